package import JSON

/// A value that travels in a topic as JSON with a schema version. Readers ignore fields that they do
/// not know, so that an older process can read a newer one's records; a version that they do not know
/// they refuse, so that nothing is half understood.
package protocol Record: Sendable {
    static var schemaVersion: Int { get }
    /// Writes the members behind `v`.
    func write(to writer: inout JSONWriter)
    /// Builds the value; what is missing or wrong notes itself in the document, and the value is dropped.
    init(from record: JSONObject)
}

/// Why a record cannot be used; it goes to the dead letters with this.
package enum RecordError: Error, Equatable, CustomStringConvertible {
    case unknownVersion(Int, known: Int)
    case malformed(JSONError)

    /// Stable, for programs and for `flotilla dead-letters --reason`.
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

extension Record {
    /// The record's bytes.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        encode(to: &writer)
        return writer.bytes
    }

    /// Into a writer that is used for many records, one after the other.
    package func encode(to writer: inout JSONWriter) {
        writer.removeAll()
        append(to: &writer)
    }

    /// Behind what is there.
    package func append(to writer: inout JSONWriter) {
        writer.beginNext()
        writer.beginObject()
        writer.name("v")
        writer.value(Self.schemaVersion)
        write(to: &writer)
        writer.endObject()
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader) throws(RecordError)
        -> Self
    {
        try unsafe read(bytes, with: reader) { Self(from: $0) }
    }

    /// Lets the closure take what it needs from the record's members, where they lie.
    ///
    /// Records that are decoded very often have a `decode` of their own: made for one type, it moves no
    /// value through a generic one's buffers.
    @inline(__always)
    package static func read<T>(
        _ bytes: UnsafeRawBufferPointer, with reader: JSONReader, _ body: (JSONObject) -> T
    ) throws(RecordError) -> T {
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

    package static func decode(_ bytes: [UInt8], with reader: JSONReader) throws(RecordError) -> Self {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(RecordError) in
            try unsafe decode(bytes, with: reader)
        }
    }
}
