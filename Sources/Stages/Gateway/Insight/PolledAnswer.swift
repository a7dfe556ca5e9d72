internal import Compression
internal import Cryptography
internal import HTTPServer

/// The answer to a client that polls, such as an open page of the console. If the client already has this answer, it
/// gets only the status 304. If the client can read gzip, the answer is compressed.
enum PolledAnswer {
    /// Shorter answers do not become smaller. Compression of longer ones would delay other answers of the thread.
    private static let compressedBytes = 1024...512 << 10
    private static let entityTagDigestByteCount = 12

    static func response(_ body: [UInt8], to request: HTTPRequest) -> HTTPResponse {
        let digest = SHA256.digest(of: body).prefix(entityTagDigestByteCount)
        // The tag is weak, because the compressed and the plain answer have the same one.
        let entityTag = "W/\"\(Base64URL.encode(Array(digest)))\""
        var headers: HTTPHeaders = ["ETag": entityTag, "Vary": "Accept-Encoding"]
        if request.headers["if-none-match"] == entityTag {
            return HTTPResponse(status: 304, headers: headers)
        }
        headers.add("Content-Type", value: "application/json")
        guard request.acceptsGzip, compressedBytes.contains(body.count), let compressed = Gzip.compress(body)
        else { return HTTPResponse(headers: headers, body: body) }
        headers.add("Content-Encoding", value: "gzip")
        return HTTPResponse(headers: headers, body: compressed)
    }
}
