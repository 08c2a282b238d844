CREATE DATABASE shop;
USE shop;
CREATE TABLE products (id int PRIMARY KEY, name varchar(40) NOT NULL, price decimal(10, 2), since date);
INSERT INTO products VALUES (1, 'Lamp', 19.90, '2024-05-01'), (2, 'Desk lamp', 34.50, '2025-02-14'), (3, 'Chair', 89, NULL);

CREATE USER shop_reader@'%' IDENTIFIED BY 'reader-secret';
GRANT BINLOG MONITOR, REPLICATION SLAVE, SELECT ON *.* TO shop_reader@'%';
