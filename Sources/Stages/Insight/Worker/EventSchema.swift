/// The SQLite tables of one lane's events, and the statements that write them.
enum EventSchema {
    /// The version of the layout. A file with another version is rebuilt.
    static let version = 3
    /// The version of a file that the last process found unusable.
    static let unusableVersion = -1

    /// `origin` and `applied` have one row each. `stamp` is the time of the record by the cluster's clock, `at`
    /// the time of the event by the phone's clock within bounds.
    static let tables = """
        CREATE TABLE origin (text TEXT NOT NULL);
        CREATE TABLE applied (
            offset INTEGER NOT NULL, as_of INTEGER NOT NULL, last_offset INTEGER, last_sum INTEGER);
        CREATE TABLE events (
            offset INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, at INTEGER NOT NULL,
            received_at INTEGER NOT NULL, code TEXT NOT NULL, app TEXT NOT NULL, environment TEXT,
            installation TEXT, user TEXT, attributes_type TEXT, activity TEXT, group_name TEXT,
            token_hash TEXT, cause TEXT, schedule_id TEXT, schedule_name TEXT,
            send_id TEXT);
        CREATE INDEX events_of_users ON events (app, user, at) WHERE user IS NOT NULL;
        CREATE INDEX events_of_installations ON events (app, installation, at) WHERE installation IS NOT NULL;
        CREATE INDEX events_of_groups ON events (app, group_name, code, at) WHERE group_name IS NOT NULL;
        CREATE INDEX events_by_code ON events (app, code, at);
        CREATE INDEX events_by_stamp ON events (stamp);
        CREATE TABLE counts (
            app TEXT NOT NULL, hour INTEGER NOT NULL, code TEXT NOT NULL, attributes_type TEXT NOT NULL,
            group_name TEXT NOT NULL, count INTEGER NOT NULL,
            PRIMARY KEY (app, hour, code, attributes_type, group_name)) WITHOUT ROWID;
        CREATE INDEX counts_of_groups ON counts (app, group_name, hour);
        CREATE TABLE totals (
            app TEXT NOT NULL, hour INTEGER NOT NULL, code TEXT NOT NULL, attributes_type TEXT NOT NULL,
            count INTEGER NOT NULL, PRIMARY KEY (app, hour, code, attributes_type)) WITHOUT ROWID;
        """

    /// The tables of counts, which have an hour in their keys.
    enum CountTable: String, CaseIterable {
        case counts
        case totals

        /// Deletes some rows of an app before an hour. The last placeholder is their limit.
        var deleteStatement: String {
            let key =
                self == .counts
                ? "app, hour, code, attributes_type, group_name" : "app, hour, code, attributes_type"
            return """
                DELETE FROM \(rawValue) WHERE (\(key)) IN (
                    SELECT \(key) FROM \(rawValue) WHERE app = ? AND hour < ? LIMIT ?)
                """
        }
    }

    static let insertStatement = """
        INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// A name is never empty, so an empty text means no name.
    static let countStatement = """
        INSERT INTO counts VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET count = count + excluded.count
        """

    /// The totals are the counts of all groups.
    static let totalStatement = """
        INSERT INTO totals VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET count = count + excluded.count
        """

    static let appliedStatement = "UPDATE applied SET offset = ?, as_of = ?, last_offset = ?, last_sum = ?"
}
