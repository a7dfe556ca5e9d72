package import JSON

/// A value that travels in a topic as JSON with a schema version. Readers ignore unknown fields, so that an
/// older process can read newer records. They reject unknown versions, so that no record is half understood.
package protocol JSONRecord: Sendable {
    /// The newest version that this process knows. It writes this version, and reads this and all older ones.
    static var schemaVersion: Int { get }
    /// Writes the fields that follow `v`, the schema version.
    func write(to writer: inout JSONWriter)
    /// Creates the value. A missing or wrong field gets a placeholder and is reported in the document. The
    /// value is then dropped, and decoding throws.
    init(from record: JSONObject)
}

/// The reason why a record cannot be decoded. It goes into the dead letter.
package enum RecordDecodingError: Error, Equatable, CustomStringConvertible {
    case unknownVersion(Int, known: Int)
    case malformed(JSONError)

    /// A stable code, for programs and for `flotilla dead-letters --reason`.
    package var code: String {
        switch self {
        case .unknownVersion: "unknown_version"
        case .malformed(let error): error.problems[0].code.rawValue
        }
    }

    package var description: String {
        switch self {
        case .unknownVersion(let version, let known):
            "the record has schema version \(version), this process knows \(known); update it and redrive the record"
        case .malformed(let error): error.description
        }
    }
}

extension JSONRecord {
    /// Returns the record's bytes.
    @inlinable
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        encode(to: &writer)
        return writer.bytes
    }

    /// Encodes into a writer that is reused for many records, one after the other.
    @inlinable
    package func encode(to writer: inout JSONWriter) {
        writer.removeAll()
        append(to: &writer)
    }

    /// Appends the record to the writer's content.
    @inlinable
    package func append(to writer: inout JSONWriter) {
        writer.beginNextDocument()
        writer.beginObject()
        writer.name("v")
        writer.value(Self.schemaVersion)
        write(to: &writer)
        writer.endObject()
    }

    @inlinable
    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader)
        throws(RecordDecodingError)
        -> Self
    {
        try unsafe read(bytes, with: reader) { Self(from: $0) }
    }

    /// Checks the version and returns the closure's value. The closure reads the record's fields in place.
    ///
    /// Record types that are decoded very often have their own `decode`, which calls this function. A concrete
    /// function moves no value through the buffers of a generic one.
    @inlinable @inline(__always)
    package static func read<T>(
        _ bytes: UnsafeRawBufferPointer, with reader: JSONReader, body: (JSONObject) -> T
    ) throws(RecordDecodingError) -> T {
        let object: JSONObject
        do { object = try unsafe reader.begin(bytes).object() } catch { throw .malformed(error) }
        let version = object["v"].int(in: 1...Int(Int32.max))
        guard version <= Self.schemaVersion else {
            if let error = reader.error { throw .malformed(error) }
            throw .unknownVersion(version, known: Self.schemaVersion)
        }
        let value = body(object)
        if let error = reader.error { throw .malformed(error) }
        return value
    }

    @inlinable
    package static func decode(_ bytes: [UInt8], with reader: JSONReader) throws(RecordDecodingError) -> Self
    {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe decode(bytes, with: reader)
        }
    }
}
