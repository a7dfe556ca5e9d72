import JSON
import Testing

@testable import APNs

/// Apple's table, copied by hand a second time, so that each change must be made twice.
private let documented: [(String, Int, ResponseDisposition)] = [
    ("BadCollapseId", 400, .requestFaulty), ("BadDeviceToken", 400, .tokenSuspect),
    ("BadExpirationDate", 400, .requestFaulty), ("BadMessageId", 400, .requestFaulty),
    ("BadPriority", 400, .requestFaulty), ("BadTopic", 400, .appMisconfigured),
    ("DeviceTokenNotForTopic", 400, .tokenSuspect), ("DuplicateHeaders", 400, .requestFaulty),
    ("IdleTimeout", 400, .connectionUnusable), ("InvalidPushType", 400, .requestFaulty),
    ("MissingDeviceToken", 400, .requestFaulty), ("MissingPushType", 400, .requestFaulty),
    ("MissingTopic", 400, .requestFaulty), ("PayloadEmpty", 400, .requestFaulty),
    ("TopicDisallowed", 400, .appMisconfigured), ("FeatureNotEnabled", 400, .appMisconfigured),
    ("MissingChannelId", 400, .requestFaulty), ("BadChannelId", 400, .requestFaulty),
    ("ChannelNotRegistered", 400, .channelGone), ("BadRequestParams", 400, .requestFaulty),
    ("BadRequestPayload", 400, .requestFaulty), ("CannotCreateChannelConfig", 400, .channelLimit),
    ("MissingChannelQueueSize", 400, .requestFaulty), ("BadCertificate", 403, .appMisconfigured),
    ("BadCertificateEnvironment", 403, .appMisconfigured),
    ("ExpiredProviderToken", 403, .providerTokenExpired),
    ("Forbidden", 403, .appMisconfigured), ("InvalidProviderToken", 403, .appMisconfigured),
    ("MissingProviderToken", 403, .requestFaulty), ("UnrelatedKeyIdInToken", 403, .connectionUnusable),
    ("BadEnvironmentKeyIdInToken", 403, .appMisconfigured),
    ("BadEnvironmentKeyInToken", 403, .appMisconfigured),
    ("TopicMismatch", 403, .appMisconfigured), ("BadPath", 404, .requestFaulty),
    ("MethodNotAllowed", 405, .requestFaulty), ("ExpiredToken", 410, .tokenGone),
    ("Unregistered", 410, .tokenGone),
    ("PayloadTooLarge", 413, .requestFaulty), ("TooManyProviderTokenUpdates", 429, .tooManyProviderTokens),
    ("TooManyRequests", 429, .tokenThrottled), ("InternalServerError", 500, .serverTrouble),
    ("ServiceUnavailable", 503, .serverTrouble), ("Shutdown", 503, .connectionUnusable),
]

@Test func `every documented reason has its status and its disposition`() {
    #expect(documented.count == APNsReason.allCases.count)
    let reader = JSONReader()
    for (text, status, disposition) in documented {
        let answer = APNsResponse(status: status, body: Array(#"{"reason":"\#(text)"}"#.utf8), with: reader)
        #expect(answer.reason?.rawValue == text)
        #expect(answer.reason?.status == status)
        #expect(answer.disposition == disposition, "\(text)")
    }
}

@Test func `the answer for a dead token carries the time of its death`() {
    let body = #"{"reason":"Unregistered","timestamp":1763600000123}"#
    let answer = APNsResponse(status: 410, body: Array(body.utf8), with: JSONReader())
    #expect(answer.timestamp == 1_763_600_000_123)
    #expect(answer.disposition == .tokenGone)
}

@Test func `no token is dropped for an unknown reason`() {
    let reader = JSONReader()
    for status in [100, 201, 204, 301, 400, 401, 403, 404, 410, 413, 418, 429, 499, 500, 502, 503, 599] {
        for body in ["", "{}", #"{"reason":"Novelty"}"#, "<html>", #"{"reason":7}"#, "[]", "null"] {
            let answer = APNsResponse(status: status, body: Array(body.utf8), with: reader)
            #expect(
                answer.disposition != .tokenGone && answer.disposition != .tokenSuspect, "\(status) \(body)")
            // The channel hosts answer 201 and 204. Every success was processed.
            #expect((answer.disposition == .accepted) == (200..<300).contains(status))
        }
    }
    #expect(
        APNsResponse(status: 503, body: Array(#"{"reason":"Novelty"}"#.utf8), with: reader).disposition
            == .serverTrouble)
    #expect(APNsResponse(status: 200, body: Array("{".utf8), with: reader).disposition == .accepted)
}

@Test func `the text of a reason is kept only if it is harmless`() {
    let reader = JSONReader()
    #expect(
        APNsResponse(status: 400, body: Array(#"{"reason":"Novelty"}"#.utf8), with: reader).reasonText
            == "Novelty")
    #expect(
        APNsResponse(status: 503, body: Array(#"{"reason":"Service Unavailable"}"#.utf8), with: reader).reason
            == .serviceUnavailable)
    #expect(
        APNsResponse(status: 400, body: Array(#"{"reason":"a\nb"}"#.utf8), with: reader).reasonText == nil)
    let long = String(repeating: "a", count: 5000)
    #expect(
        APNsResponse(status: 400, body: Array(#"{"reason":"\#(long)"}"#.utf8), with: reader).reasonText == nil
    )
}
