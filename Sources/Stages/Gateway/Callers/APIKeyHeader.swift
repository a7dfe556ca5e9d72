internal import HTTPServer

/// The header with a request's API key.
enum APIKeyHeader {
    /// The longest value that is searched for a key.
    private static let valueBytesMax = 256

    /// Returns the request's only key: `KEY` of `Authorization: Bearer KEY` or of `X-netmera-api-key: KEY`.
    /// Returns nil if the request has no such header or several.
    static func key(in headers: HTTPHeaders, style: APIKeyStyle = .bearer) -> Substring? {
        switch style {
        case .bearer:
            guard let value = onlyValue(named: "authorization", in: headers) else { return nil }
            let parts = value.split(separator: " ")
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return parts[1]
        case .netmera:
            guard let value = onlyValue(named: "x-netmera-api-key", in: headers) else { return nil }
            let parts = value.split(separator: " ")
            return parts.count == 1 ? parts[0] : nil
        }
    }

    /// Returns the value of a header that occurs once.
    private static func onlyValue(named name: String, in headers: HTTPHeaders) -> String? {
        let values = headers.all(named: name)
        return values.count == 1 && values[0].utf8.count <= valueBytesMax ? values[0] : nil
    }
}
