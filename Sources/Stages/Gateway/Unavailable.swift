internal import HTTPServer
internal import Synchronization

/// Answers to requests that cannot be served now. The `Retry-After` seconds vary, so that not all clients
/// return at the same time.
enum Unavailable {
    private static let turn = Atomic<Int>(0)
    private static let retrySeconds = 1...5

    static var notReady: HTTPResponse {
        response(code: "not_ready", "the gateway has not read its catalog yet; try again")
    }
    static var unreachable: HTTPResponse {
        response(code: "kafka_unreachable", "nothing can be stored at the moment; try again")
    }
    static var overloaded: HTTPResponse {
        response(code: "overloaded", "too many requests wait for Kafka; try again")
    }
    static var insightAway: HTTPResponse {
        response(
            code: "insight_away",
            "no process of the insight stage answers; check that `flotilla run insight` is running"
        )
    }
    /// The records may be stored all the same. An `eventTime` makes the second report a duplicate.
    static var unstored: HTTPResponse {
        response(code: "not_stored", "not all records were acknowledged; send the request again")
    }

    /// Returns the answer to a request beyond a limit. The message names the setting.
    static func limited(_ limit: RateLimit, waitMilliseconds: Int) -> HTTPResponse {
        var response = HTTPResponse.error(429, RateLimit.code, message: limit.sentence)
        response.headers.add("Retry-After", "\((waitMilliseconds + 999) / 1000)")
        return response
    }

    private static func response(code: String, _ message: String) -> HTTPResponse {
        var response = HTTPResponse.error(503, code, message: message)
        let turn = turn.wrappingAdd(1, ordering: .relaxed).newValue & 0xFFFF
        response.headers.add("Retry-After", "\(retrySeconds.lowerBound + turn % retrySeconds.count)")
        return response
    }
}
