CREATE DATABASE shop;
USE shop;
CREATE TABLE customers (id int PRIMARY KEY, name varchar(40) NOT NULL, since date, credit decimal(10, 2));
INSERT INTO customers VALUES (1, 'Ada', '2024-05-01', 100), (2, 'Grace', '2025-02-14', 250.50), (3, 'Edsger', NULL, 0);

CREATE USER shop_reader@'%' IDENTIFIED BY 'reader-secret';
GRANT BINLOG MONITOR, REPLICATION SLAVE, SELECT ON *.* TO shop_reader@'%';
