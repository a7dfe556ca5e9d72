package import JSON
package import RecordFormat

/// A record of `registry`. Its key decides which of the two kinds it is.
package enum RegistryRow: Sendable, Hashable {
    case token(TokenRow)
    case profile(ProfileRow)

    package func encode(to writer: inout JSONWriter) {
        switch self {
        case .token(let row): row.encode(to: &writer)
        case .profile(let row): row.encode(to: &writer)
        }
    }

    /// - Parameter entry: the entry in the record's key.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, under entry: RegistryKey.Entry, with reader: JSONReader
    ) throws(RecordDecodingError) -> RegistryRow {
        switch entry {
        case .start, .update: .token(try unsafe TokenRow.decode(bytes, with: reader))
        case .profile: .profile(try unsafe ProfileRow.decode(bytes, with: reader))
        }
    }
}
