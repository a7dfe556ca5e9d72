/// An order of the rows in a view's file that differs from the order of the topic's keys. Rows that are written
/// together should lie together, because otherwise each row costs a page of the file.
package protocol RowOrder: SendableMetatype {
    /// Writes the stored key for a key of the topic. Different keys have different stored keys.
    static func writeStoredKey(for key: Span<UInt8>, to stored: inout [UInt8])
    /// Writes the topic's key for a stored key.
    static func writeTopicKey(for stored: Span<UInt8>, to key: inout [UInt8])
}
