/// The conditions under which a state file is reused.
package struct ReuseConditions: Sendable, Equatable {
    /// The version of the tables' layout.
    package var schema: Int
    /// The source of the records: cluster, topic and partition, as the caller names them.
    package var origin: String
    /// The topic's `delete.retention.ms`. An older file may have missed deletions.
    package var ageMaxMilliseconds: Int64

    package init(schema: Int, origin: String, ageMaxMilliseconds: Int64) {
        self.schema = schema
        self.origin = origin
        self.ageMaxMilliseconds = ageMaxMilliseconds
    }
}
