/// ApiVersions, the first request of a client. The answer is a table of the requests and versions that this
/// broker understands.
enum ApiVersions {
    /// Writes the table. A client with a newer version of ApiVersions gets it in version 0, with the error
    /// UNSUPPORTED_VERSION, so that it can ask again.
    static func writeResponse(to writer: inout WireWriter, version: Int16, error: ErrorCode = .none) {
        writer.encoding = APIKey.apiVersions.versions.encoding(of: version)
        writer.error(error)
        writer.array(APIKey.allCases) { writer, api in
            writer.int16(api.rawValue)
            writer.int16(api.versions.oldestAdvertised)
            writer.int16(api.versions.newest)
            writer.emptyTags()
        }
        if version >= 1 { writer.zeroThrottleTime() }
        writer.emptyTags()
    }

    /// Skips the fields of the request.
    static func readRequest(from reader: inout WireReader, version: Int16) throws(WireError) {
        guard version >= 3 else { return }
        _ = try reader.string()  // client_software_name
        _ = try reader.string()  // client_software_version
        try reader.skipTags()
    }
}
