CREATE DATABASE shop;
\connect shop
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, since date, credit numeric(10, 2));
INSERT INTO customers VALUES (1, 'Ada', '2024-05-01', 100), (2, 'Grace', '2025-02-14', 250.50), (3, 'Edsger', NULL, 0);

CREATE ROLE shop_reader LOGIN REPLICATION PASSWORD 'reader-secret';
GRANT CREATE ON DATABASE shop TO shop_reader;
-- Only the owner of a table may publish it.
ALTER TABLE customers OWNER TO shop_reader;
