internal import HTTPServer
internal import JSON

extension HTTPResponse {
    /// Returns an answer with one JSON object.
    static func object(status: Int = 200, fields: (inout JSONWriter) -> Void) -> HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        fields(&json)
        json.endObject()
        return .json(json.bytes, status: status)
    }
}
