/// A JSON value exactly as its author wrote it. `content-state` belongs to the app: it is checked once and
/// then passed on byte for byte. Decoding and encoding it again could change a number that the app needs.
@usableFromInline package struct RawJSON: Sendable, Hashable {
    package let bytes: [UInt8]

    /// Creates a value from bytes that a `JSONReader` has already accepted as part of a document.
    package init(accepted bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = Array(bytes)
    }

    /// Checks the bytes. The error names the problem and its position.
    package init(checking bytes: [UInt8], with reader: JSONReader) throws(JSONError) {
        self.bytes = try reader.read(bytes) { unsafe Array($0.raw) }
    }

    /// Creates a value from bytes that were joined from accepted ones.
    package init(joined bytes: [UInt8]) { self.bytes = bytes }

    /// Whether the value is an object, as `content-state` and `attributes` must be. The bytes are a valid
    /// JSON value.
    package var isObject: Bool { bytes.first == UInt8(ascii: "{") }

    package var count: Int { bytes.count }

    /// The nesting depth of arrays and objects.
    package var depth: Int {
        var (depth, deepest) = (0, 0)
        var (isText, isEscaped) = (false, false)
        for byte in bytes {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isText.toggle()
            } else if isText {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
                deepest = max(deepest, depth)
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
            }
        }
        return deepest
    }
}
