import Foundation
import Testing

@testable import SQLite

/// A database file: values, transactions, errors, damage and kills.
struct SQLiteDatabaseTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/rows.sqlite" }

    /// Opens the database for writing, and makes its table if it is new.
    private func openWithTable() throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: path, role: .writer)
        try database.execute("CREATE TABLE IF NOT EXISTS rows (key TEXT, number INTEGER, bytes BLOB)")
        return database
    }

    private func rowCount(of database: SQLiteDatabase) throws -> Int64 {
        var count: Int64 = -1
        try database.prepare("SELECT count(*) FROM rows").forEachRow { count = $0.integer(at: 0) }
        return count
    }

    @Test func `bound values are returned unchanged`() throws {
        let database = try openWithTable()
        let insert = try database.prepare("INSERT INTO rows VALUES (?, ?, ?)")
        let values: [(String?, Int64, [UInt8])] = [
            ("", .min, []), ("a\u{0}b", .max, [0, 255]), ("ö'); DROP TABLE rows; --", 0, [1]), (nil, 7, [0]),
        ]
        for (key, number, bytes) in values {
            #expect(try insert.run(.text(key), .integer(number), .bytes(bytes)) == 1)
        }
        var found: [(String?, Int64, [UInt8])] = []
        try database.prepare("SELECT key, number, bytes FROM rows ORDER BY rowid").forEachRow { row in
            found.append((row.text(at: 0), row.integer(at: 1), row.bytes(at: 2)))
        }
        #expect(found.map(\.0) == values.map(\.0))
        #expect(found.map(\.1) == values.map(\.1))
        #expect(found.map(\.2) == values.map(\.2))
    }

    @Test func `a statement ends when it is interrupted or its rows are not wanted, and the next one runs`()
        throws
    {
        let database = try openWithTable()
        let counting = """
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000000)
            """
        var isDue = true
        database.interruptStatements { isDue }
        #expect(throws: SQLiteError.interrupted(path: path)) {
            try database.prepare(counting + " SELECT count(*) FROM numbers").forEachRow { _ in }
        }
        isDue = false
        var last: Int64 = 0
        try database.prepare(counting + " SELECT n FROM numbers").readRows { row in
            last = row.integer(at: 0)
            return last < 5
        }
        #expect(last == 5)
        #expect(try rowCount(of: database) == 0)
    }

    @Test func `an empty text is not null`() throws {
        let database = try openWithTable()
        try database.prepare("INSERT INTO rows (key) VALUES (?)").run("")
        var isNull = true
        try database.prepare("SELECT key FROM rows").forEachRow { isNull = $0.isNull(at: 0) }
        #expect(!isNull)
    }

    @Test func `a column of another type is converted and never traps`() throws {
        let database = try openWithTable()
        try database.prepare("INSERT INTO rows VALUES (?, ?, ?)").run(nil, "many", .integer(5))
        try database.prepare("SELECT key, number, bytes FROM rows").forEachRow { row in
            #expect(row.integer(at: 0) == 0)
            #expect(row.integer(at: 1) == 0)
            #expect(row.text(at: 1) == "many")
            #expect(row.bytes(at: 2) == Array("5".utf8))
            #expect(row.bytes(at: 0).isEmpty)
        }
    }

    @Test func `a transaction that throws stores nothing`() throws {
        let database = try openWithTable()
        let insert = try database.prepare("INSERT INTO rows (key) VALUES (?)")
        #expect(throws: SQLiteError.self) {
            try database.runTransaction { () throws(SQLiteError) in
                try insert.run("a")
                throw .refused(path: "", reason: "on purpose")
            }
        }
        #expect(try rowCount(of: database) == 0)
        try database.runTransaction { () throws(SQLiteError) in _ = try insert.run("b") }
        #expect(try rowCount(of: database) == 1)
    }

    @Test func `a reader sees whole transactions beside the writer`() throws {
        let database = try openWithTable()
        let insert = try database.prepare("INSERT INTO rows (key) VALUES (?)")
        let reader = try SQLiteDatabase(path: path, role: .reader)
        try database.runTransaction { () throws(SQLiteError) in
            try insert.run("a")
            #expect((try? rowCount(of: reader)) == 0)
        }
        #expect(try rowCount(of: reader) == 1)
        #expect(throws: SQLiteError.self) { try reader.execute("DELETE FROM rows") }
    }

    @Test func `a query does not hold the file after its result`() throws {
        let database = try openWithTable()
        let reader = try SQLiteDatabase(path: path, role: .reader)
        let query = try reader.prepare("SELECT key FROM rows")
        try query.forEachRow { _ in }
        try database.prepare("INSERT INTO rows (key) VALUES (?)").run("a")
        var found: [String?] = []
        try query.forEachRow { found.append($0.text(at: 0)) }
        #expect(found == ["a"])
    }

    @Test func `a second writer waits and then fails with the waiting time`() throws {
        let database = try openWithTable()
        let other = try SQLiteDatabase(path: path, role: .writer)
        try other.execute("PRAGMA busy_timeout = 1")
        try database.runTransaction { () throws(SQLiteError) in
            #expect(throws: SQLiteError.busy(path: path, milliseconds: SQLiteDatabase.busyMilliseconds)) {
                try other.execute("BEGIN IMMEDIATE")
            }
        }
    }

    @Test func `the schema version is stored`() throws {
        do {
            let database = try openWithTable()
            #expect(try database.schemaVersion() == 0)
            try database.setSchemaVersion(41)
        }
        #expect(try SQLiteDatabase(path: path, role: .writer).schemaVersion() == 41)
    }

    @Test func `a statement outlives the database that made it`() throws {
        let insert = try openWithTable().prepare("INSERT INTO rows (key) VALUES (?)")
        try insert.run("a")
        #expect(try rowCount(of: try SQLiteDatabase(path: path, role: .reader)) == 1)
    }

    @Test func `a file that is not a database is corrupt`() throws {
        try Data(repeating: 0x55, count: 8192).write(to: URL(filePath: path))
        let error = #expect(throws: SQLiteError.self) { try self.openWithTable() }
        #expect(error?.isCorruption == true)
    }

    @Test func `an overwritten page is found`() throws {
        do {
            let database = try openWithTable()
            let insert = try database.prepare("INSERT INTO rows (key) VALUES (?)")
            try database.runTransaction { () throws(SQLiteError) in
                for number in 0..<5000 { try insert.run(.text("row number \(number)")) }
            }
            #expect(try database.firstDamage() == nil)
            try database.checkpoint()
        }
        let file = try FileHandle(forUpdating: URL(filePath: path))
        let pageBytes = 4_096
        try file.seek(toOffset: UInt64(5 * pageBytes))
        try file.write(contentsOf: Data(repeating: 0xA5, count: pageBytes))
        try file.close()
        let database = try SQLiteDatabase(path: path, role: .writer)
        var damage: String?
        do { damage = try database.firstDamage() } catch { damage = error.description }
        #expect(damage != nil)
    }

    @Test func `a full disk is a temporary error, and the file stays intact`() throws {
        let database = try openWithTable()
        let insert = try database.prepare("INSERT INTO rows VALUES (?, 0, ?)")
        try insert.run("first", .bytes([1]))
        try database.execute("PRAGMA max_page_count = 20")
        let error = #expect(throws: SQLiteError.self) {
            try database.runTransaction { () throws(SQLiteError) in
                for _ in 0..<100 { try insert.run("more", .bytes([UInt8](repeating: 1, count: 4000))) }
            }
        }
        #expect(error == .diskFull(path: path))
        #expect(error?.isTransient == true)
        #expect(try rowCount(of: database) == 1)
        try database.execute("PRAGMA max_page_count = 100000")
        try insert.run("second", .bytes([2]))
        #expect(try rowCount(of: database) == 2)
    }

    @Test func `a killed process leaves whole transactions`() async throws {
        var last: Int64 = 0
        for round in 0..<6 {
            let (path, delayMicroseconds) = (path, 20_000 + round * 9_000)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, delayMicroseconds = delayMicroseconds as Int] in
                let database = try SQLiteDatabase(path: path, role: .writer)
                try database.execute("CREATE TABLE IF NOT EXISTS rows (key TEXT, number INTEGER, bytes BLOB)")
                let insert = try database.prepare("INSERT INTO rows (key) VALUES (?)")
                Foundation.Thread.detachNewThread {
                    usleep(UInt32(delayMicroseconds))
                    kill(getpid(), SIGKILL)
                }
                while true {
                    try database.runTransaction { () throws(SQLiteError) in
                        for _ in 0..<20 { try insert.run("a row") }
                    }
                }
            }
            let database = try openWithTable()
            let count = try rowCount(of: database)
            // A transaction has 20 rows.
            #expect(count % 20 == 0)
            #expect(count >= last)
            #expect(try database.firstDamage() == nil)
            last = count
        }
        #expect(last > 0)
    }
}
