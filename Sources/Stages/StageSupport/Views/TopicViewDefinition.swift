/// The topic of a loop's views and the layout of their files.
package struct TopicViewDefinition: Sendable {
    /// The topic's name in the cluster, with the prefix of the `TopicLayout`.
    package let topic: String
    /// The name of the table in the file, and the beginning of the file's name.
    package let table: String
    /// The version of the file's layout. A file with another version is rebuilt.
    package let schema: Int
    /// Makes the second row that the view stores for a record. Nil if no record has one.
    package var derive: Derivation?
    /// The order of the rows in the file. Nil for the order of the topic's keys.
    package var rowOrder: (any RowOrder.Type)?

    /// Writes the derived row. Returns false if the record has none.
    package typealias Derivation =
        @Sendable (_ key: Span<UInt8>, _ value: Span<UInt8>, _ row: inout DerivedRow) -> Bool

    package init(topic: String, table: String, schema: Int) {
        self.topic = topic
        self.table = table
        self.schema = schema
    }
}

/// A second row that a view stores for a record, such as an entry in another order. Its memory is used again.
package struct DerivedRow: Equatable {
    package var key: [UInt8] = []
    package var value: [UInt8] = []

    package init() {}
}
