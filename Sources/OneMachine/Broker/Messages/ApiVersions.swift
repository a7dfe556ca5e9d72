/// The table of what this broker understands, the first thing a client asks for.
enum ApiVersions {
    /// A client that speaks a newer ApiVersions than we do is answered in version 0, with
    /// UNSUPPORTED_VERSION and the table, so that it can ask again.
    static func writeResponse(to writer: inout WireWriter, version: Int16, error: ErrorCode = .none) {
        writer.flexible = APIKey.apiVersions.versions.isFlexible(version)
        writer.error(error)
        writer.array(APIKey.allCases) { writer, api in
            writer.int16(api.rawValue)
            writer.int16(api.versions.oldestAdvertised)
            writer.int16(api.versions.newest)
            writer.emptyTags()
        }
        if version >= 1 { writer.int32(0) }
        writer.emptyTags()
    }

    /// Reads, and forgets, what the client calls itself.
    static func readRequest(from reader: inout WireReader, version: Int16) throws(WireError) {
        guard version >= 3 else { return }
        _ = try reader.string()
        _ = try reader.string()
        try reader.skipTags()
    }
}
