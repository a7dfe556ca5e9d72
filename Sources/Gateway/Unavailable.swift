internal import HTTPServer
internal import Synchronization

/// What a request hears that cannot be served now. Each answer says when to come again; the seconds
/// differ from one to the next, so that all do not come back at once.
enum Unavailable {
    private static let turn = Atomic<Int>(0)
    private static let retrySeconds = 1...5

    static var notReady: HTTPResponse {
        response(code: "not_ready", "the gateway has not read its catalogue yet; try again")
    }
    static var unreachable: HTTPResponse {
        response(code: "kafka_unreachable", "nothing can be stored at the moment; try again")
    }
    static var overloaded: HTTPResponse {
        response(code: "overloaded", "too much waits to be stored; try again")
    }
    static var insightAway: HTTPResponse {
        response(
            code: "insight_away",
            "no process of the insight stage answers; is `flotilla run insight` running?"
        )
    }
    /// Perhaps stored all the same; an `eventTime` makes the second one a duplicate.
    static var unstored: HTTPResponse {
        response(code: "not_stored", "the reports were not all acknowledged; send them again")
    }

    /// What a limit is called is what its setting is called.
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
