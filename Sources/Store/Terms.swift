/// What a state file must match to be used again.
package struct Terms: Sendable, Equatable {
    /// The layout of the tables; another number is another layout.
    package var schema: Int
    /// Whose records these are: cluster, topic and partition, in the caller's words.
    package var origin: String
    /// The topic's `delete.retention.ms`: whoever was away longer may have missed deletions.
    package var ageMaxMilliseconds: Int64

    package init(schema: Int, origin: String, ageMaxMilliseconds: Int64) {
        self.schema = schema
        self.origin = origin
        self.ageMaxMilliseconds = ageMaxMilliseconds
    }
}
