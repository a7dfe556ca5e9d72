internal import HTTPServer
internal import Synchronization

/// The answers to requests that this gateway cannot serve now: 503, or 429 beyond a rate limit.
enum Unavailable {
    static var notReady: HTTPResponse {
        response(code: "not_ready", message: "the gateway has not read its catalog yet; try again")
    }
    static var unreachable: HTTPResponse {
        response(code: "kafka_unreachable", message: "nothing can be stored at the moment; try again")
    }
    static var overloaded: HTTPResponse {
        response(code: "overloaded", message: "too many requests wait for Kafka; try again")
    }
    static var insightUnavailable: HTTPResponse {
        response(
            code: "insight_away",
            message: "no process of the insight stage answers; check that `flotilla run insight` is running"
        )
    }
    /// The key has `GatewayLimits.queriesPerKeyWaitingMax` queries without an answer.
    static let tooManyQuestions: HTTPResponse = {
        var response = HTTPResponse.error(
            status: 429, code: "too_many_questions",
            message:
                "this key has \(GatewayLimits.queriesPerKeyWaitingMax) questions that wait for insight; ask again when some are answered"
        )
        response.headers.add("Retry-After", value: "1")
        return response
    }()

    /// The records may have been stored, so the client's next request may be a repetition.
    static var unstored: HTTPResponse {
        response(code: "not_stored", message: "not all records were acknowledged; send the request again")
    }

    /// Returns the answer to a request beyond a rate limit. The message names the setting.
    static func limited(by exceeded: ExceededLimit, quota: RequestQuota? = nil) -> HTTPResponse {
        var response = HTTPResponse.error(status: 429, code: RateLimit.errorCode, message: exceeded.message)
        let waitSecondsRoundedUp = (exceeded.waitMilliseconds + 999) / 1000
        response.headers.add("Retry-After", value: "\(waitSecondsRoundedUp)")
        response.headers = response.headers.adding(quota?.headers ?? [:])
        return response
    }

    /// The seconds of `Retry-After` after 503. They vary, so that not all clients return at the same time.
    private static let retrySeconds = 1...5
    private static let responseCount = Atomic<Int>(0)

    /// Returns 503 with the next of the times in `retrySeconds`.
    private static func response(code: String, message: String) -> HTTPResponse {
        var response = HTTPResponse.error(status: 503, code: code, message: message)
        // The mask keeps the number positive when the count wraps around.
        let number = responseCount.wrappingAdd(1, ordering: .relaxed).newValue & 0xFFFF
        response.headers.add("Retry-After", value: "\(retrySeconds.lowerBound + number % retrySeconds.count)")
        return response
    }
}
