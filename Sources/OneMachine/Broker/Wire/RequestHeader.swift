/// The header of every request.
package struct RequestHeader: Sendable {
    /// The number of an `APIKey`, or of a request that this broker does not know.
    package let key: Int16
    package let version: Int16
    /// A number that the client chose. The answer repeats it.
    package let correlation: Int32
    package let clientID: String?

    package var api: APIKey? { APIKey(rawValue: key) }

    /// Reads the header and sets the reader to the encoding of the body that follows. If the request or its
    /// version is unknown, the body must not be read.
    package init(from reader: inout WireReader) throws(WireError) {
        reader.encoding = .classic
        key = try reader.int16()
        version = try reader.int16()
        correlation = try reader.int32()
        // This string is classic in every version, so that a broker can read the header of a version that it
        // does not know.
        clientID = try reader.nullableString()
        guard let versions = APIKey(rawValue: key)?.versions, versions.contains(version) else { return }
        reader.encoding = versions.encoding(of: version)
        try reader.skipTags()
    }

    /// Writes the header of the answer and sets the writer to the encoding of the body.
    package func beginResponse(in writer: inout WireWriter) {
        writer.encoding = .classic
        writer.int32(correlation)
        guard let api, api.versions.contains(version) else { return }
        writer.encoding = api.versions.encoding(of: version)
        // The answer to ApiVersions always has the oldest header, because the client cannot know the
        // broker's versions yet.
        if api != .apiVersions { writer.emptyTags() }
    }

    /// Writes a whole answer: its length in four bytes, the header, and the body.
    func writeResponse(to writer: inout WireWriter, body: (inout WireWriter) -> Void) {
        let lengthPosition = writer.count
        writer.encoding = .classic
        writer.int32(0)  // The length is filled in at the end.
        let start = writer.count
        beginResponse(in: &writer)
        body(&writer)
        writer.patch(int32: Int32(writer.count - start), at: lengthPosition)
    }
}
