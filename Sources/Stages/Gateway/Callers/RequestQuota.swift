internal import HTTPServer

/// The requests that a key may still make now, as headers of its answers: `RateLimit-Policy` and `RateLimit` of the IETF
/// draft "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers). A policy has the name of the setting
/// and a window of one second.
struct RequestQuota: Sendable, Equatable {
    let countMax: Int
    let remaining: Int

    var headers: HTTPHeaders {
        let name = RateLimit.keyRequests.rawValue
        return [
            "RateLimit-Policy": "\"\(name)\";q=\(countMax);w=1",
            // The bucket is full again after one second.
            "RateLimit": "\"\(name)\";r=\(remaining);t=1",
        ]
    }
}
