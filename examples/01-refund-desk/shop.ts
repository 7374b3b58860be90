/** The shop's own database: what the tools read and change. It knows nothing of agents. */
import { DatabaseSync } from 'node:sqlite';

export interface Order {
  readonly id: string;
  readonly customer: string;
  readonly email: string;
  readonly item: string;
  readonly total: number;
}

export type Rows = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

export interface Shop {
  findOrder(id: string): Order | undefined;
  /** Each call adds a row, so that the rows tell how often a tool ran. */
  addLookup(orderId: string): void;
  addRefund(orderId: string, amount: number): void;
  addMail(address: string, subject: string, text: string): void;
  rows(): Rows;
  /** Puts the shop back to its first day. */
  reset(): void;
  close(): void;
}

const schema = `
  CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, email TEXT, item TEXT, total REAL);
  CREATE TABLE IF NOT EXISTS lookups (order_id TEXT);
  CREATE TABLE IF NOT EXISTS refunds (order_id TEXT, amount REAL);
  CREATE TABLE IF NOT EXISTS mails (address TEXT, subject TEXT, text TEXT);`;

const firstDay = `
  DELETE FROM orders; DELETE FROM lookups; DELETE FROM refunds; DELETE FROM mails;
  INSERT INTO orders VALUES ('ord-1041', 'Ben Ito', 'ben@example.com', 'desk mat', 24.5);
  INSERT INTO orders VALUES ('ord-1042', 'Ada Park', 'ada@example.com', 'ceramic lamp', 129.9);`;

export function openShop(path: string): Shop {
  const database = new DatabaseSync(path);
  database.exec(schema);
  const run = (statement: string, ...values: (string | number)[]): void => {
    database.prepare(statement).run(...values);
  };
  return {
    findOrder: (id) =>
      database.prepare('SELECT * FROM orders WHERE id = ?').get(id) as unknown as Order | undefined,
    addLookup: (orderId) => run('INSERT INTO lookups VALUES (?)', orderId),
    addRefund: (orderId, amount) => run('INSERT INTO refunds VALUES (?, ?)', orderId, amount),
    addMail: (address, subject, text) => run('INSERT INTO mails VALUES (?, ?, ?)', address, subject, text),
    rows() {
      const tables = ['orders', 'lookups', 'refunds', 'mails'];
      return Object.fromEntries(
        tables.map((table) => [table, database.prepare(`SELECT * FROM ${table}`).all()]),
      );
    },
    reset: () => database.exec(firstDay),
    close: () => database.close(),
  };
}
