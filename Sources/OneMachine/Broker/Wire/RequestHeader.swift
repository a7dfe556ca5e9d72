/// The header of every request: its kind, and the number of its answer.
package struct RequestHeader: Sendable {
    /// As sent: it may be a request that this broker does not know.
    package let key: Int16
    package let version: Int16
    package let correlation: Int32
    package let clientID: String?

    package var api: APIKey? { APIKey(rawValue: key) }

    /// Reads the header and sets the reader to the encoding of the body that follows.
    /// An unknown request or version is left for the dispatcher: its body must not be read.
    package init(from reader: inout WireReader) throws(WireError) {
        reader.flexible = false
        key = try reader.int16()
        version = try reader.int16()
        correlation = try reader.int32()
        // A classic string in every header version: the schema kept it so that any broker can
        // read the header of a version that it does not know.
        clientID = try reader.nullableString()
        guard let versions = APIKey(rawValue: key)?.versions, versions.contains(version) else { return }
        reader.flexible = versions.isFlexible(version)
        try reader.skipTags()
    }

    /// Begins the answer: the response header, and the writer set to the body's encoding.
    package func beginResponse(in writer: inout WireWriter) {
        writer.flexible = false
        writer.int32(correlation)
        guard let api, api.versions.contains(version) else { return }
        writer.flexible = api.versions.isFlexible(version)
        // ApiVersions answers with the oldest header always: its reader cannot know ours yet.
        if api != .apiVersions { writer.emptyTags() }
    }

    /// A whole answer as it goes over the wire: its length, the header, the body.
    func writeResponse(to writer: inout WireWriter, body: (inout WireWriter) -> Void) {
        let start = writer.count
        writer.flexible = false
        writer.int32(0)
        beginResponse(in: &writer)
        body(&writer)
        writer.patch(int32: Int32(writer.count - start - 4), at: start)
    }
}
