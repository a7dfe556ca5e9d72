import Identifiers
import Simulation

@testable import APNsSimulator

/// Random requests of all kinds: valid ones, and valid ones with changed headers, paths, methods and bodies.
enum FuzzRequest {
    static func random(for subject: FuzzSubject, using random: inout SeededGenerator) -> TestRequest {
        var request = validRequest(for: subject, using: &random)
        for _ in 0..<random.number(below: 3) {
            let name = headers[random.number(below: headers.count)]
            let value = value(bearer: subject.bearer, using: &random)
            let isRepeated = random.number(below: 3) == 0
            request = isRepeated ? request.adding(name, value) : request.setting(name, value)
        }
        if random.number(below: 6) == 0 { request.path = path(using: &random) }
        if random.number(below: 8) == 0 {
            request.method = ["GET", "PUT", "DELETE", "X", "HEAD"][random.number(below: 5)]
        }
        switch random.number(below: 6) {
        case 0: request.body = bodies[random.number(below: bodies.count)]
        case 1:
            var bytes = Array(request.body.utf8)
            if !bytes.isEmpty { bytes[random.number(below: bytes.count)] = UInt8(random.number(below: 127)) }
            request.body = String(decoding: bytes, as: UTF8.self)
        default: break
        }
        return request
    }

    private static func validRequest(for subject: FuzzSubject, using random: inout SeededGenerator)
        -> TestRequest
    {
        let channel = ["AAAA", "QUJD", "?", ""][random.number(below: 4)]
        switch random.number(below: 8) {
        case 0: return .broadcast(subject.bearer, channel: channel)
        case 1: return .create(subject.bearer, policy: ["0", "1"][random.number(below: 2)])
        case 2: return .manage("GET", subject.bearer, channel: channel)
        case 3: return .manage("DELETE", subject.bearer, channel: channel)
        case 4: return .push(subject.bearer)
        default:
            let token = String(decoding: subject.token(&random).hex, as: UTF8.self)
            return .push(subject.bearer).at("/3/device/\(token)").with(body: payload(using: &random))
        }
    }

    /// Returns a payload with random values in all fields that phones compute with.
    private static func payload(using random: inout SeededGenerator) -> String {
        let event = ["start", "start", "update", "update", "end", "other"][random.number(below: 6)]
        var fields = [
            #""event":"\#(event)""#, #""content-state":{"score":\#(random.number(below: 5))}"#,
            #""timestamp":\#(timeOrExtreme(using: &random))"#,
        ]
        if event == "start" {
            fields += [
                #""attributes-type":"Match""#, #""attributes":{"team":"A","netmeraGroupId":"g"}"#,
                #""alert":{"title":"a","body":"b"}"#,
            ]
            if random.number(below: 4) == 0 { fields.append(#""input-push-channel":"QUJD""#) }
        }
        if random.number(below: 3) == 0 { fields.append(#""stale-date":\#(timeOrExtreme(using: &random))"#) }
        if random.number(below: 3) == 0 {
            fields.append(#""dismissal-date":\#(timeOrExtreme(using: &random))"#)
        }
        if random.number(below: 6) == 0 { fields.remove(at: random.number(below: fields.count)) }
        return #"{"aps":{\#(fields.joined(separator: ","))}}"#
    }

    /// Returns a time of this decade in seconds, or a number that may overflow.
    private static func timeOrExtreme(using random: inout SeededGenerator) -> String {
        switch random.number(below: 4) {
        case 0: extremes[random.number(below: extremes.count)]
        default: String(1_700_000_000 + random.number(below: 200_000_000))
        }
    }

    private static let extremes = [
        "0", "-1", "1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e300", "0.5",
        "9223372036854775", "-9223372036854775", "253402300800", "null", "\"1\"", "8999999999999999999",
    ]

    private static let headers = [
        "authorization", "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
        "apns-collapse-id", "apns-channel-id", "apns-request-id", "other",
    ]

    private static func value(bearer: String, using random: inout SeededGenerator) -> String {
        switch random.number(below: 7) {
        case 0: String(repeating: "x", count: random.number(below: 200))
        case 1: "bearer \(bearer)x"
        case 2: RunningSimulator.app + ".push-type.liveactivity"
        default: values[random.number(below: values.count)]
        }
    }

    private static let values = [
        "", "0", "5", "10", "1", "-1", "99999999999999999999", "999999999999999999", "1763632800",
        "liveactivity", "alert", "com.example", TestRequest.id, "bearer", "bearer a.b.c", "ü",
    ]

    private static func path(using random: inout SeededGenerator) -> String {
        if random.number(below: 10) == 0 {
            return "/3/device/" + String(repeating: "ab", count: random.number(below: 600))
        }
        return paths[random.number(below: paths.count)]
    }

    private static let paths = [
        "/", "/3/device", "/3/device/", "/3/device/aa", "/3/device/ab", "/3/device/ac", "/3/device/ad",
        "/3/device/a", "/4/broadcasts/apps/", "/4/broadcasts/apps/a.b", "/1/apps//channels",
        "/1/apps/channels", "/1/apps/a/all-channels", "/3/device/%00", "*",
        "/1/apps/\(RunningSimulator.app)/all-channels",
    ]

    private static let bodies = [
        "", "{}", "[]", "null", "1", #"{"aps":1}"#, #"{"aps":{"timestamp":18446744073709551615}}"#,
        #"{"aps":{"timestamp":1e400}}"#, #"{"aps":{"input-push-token":1.0,"event":1,"alert":null}}"#,
        String(repeating: "[", count: 3_000), String(repeating: "x", count: 9_000),
        String(repeating: "x", count: 70_000),
        #"{"message-storage-policy":18446744073709551615,"push-type":"LiveActivity"}"#,
        #"{"message-storage-policy":-1,"push-type":"LiveActivity"}"#,
        #"{"aps":{"relevance-score":1e308,"stale-date":-9223372036854775808,"event":"end"}}"#,
    ]
}
