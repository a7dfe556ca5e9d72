/// How a view's file orders its rows, where that is not by the keys of the topic: what is written together should
/// stand together, or each row costs a page of the file.
package protocol RowOrder: SendableMetatype {
    /// The key in the file: each key has one of its own.
    static func write(stored key: Span<UInt8>, to stored: inout [UInt8])
    /// The key that was stored so.
    static func write(key stored: Span<UInt8>, to key: inout [UInt8])
}
