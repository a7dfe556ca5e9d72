/// One request to the simulator. The static functions make valid requests, and the others return copies with a change.
/// `bearer` is a provider token, or nil for a request without one.
struct TestRequest: Sendable {
    static let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
    static let token = String(repeating: "c0de", count: 40)
    static let update =
        #"{"aps":{"timestamp":1763632800,"event":"update","content-state":{"home":1,"away":0}}}"#

    var method = "POST"
    var path: String
    var headers: [(String, String)]
    var body: String

    /// A push to a device token.
    static func push(_ bearer: String?) -> TestRequest {
        var request = TestRequest(
            path: "/3/device/\(token)",
            headers: [
                ("apns-topic", RunningSimulator.app + ".push-type.liveactivity"),
                ("apns-push-type", "liveactivity"), ("apns-priority", "10"), ("apns-expiration", "0"),
                ("apns-id", id),
            ], body: update)
        if let bearer { request.headers.append(("authorization", "bearer \(bearer)")) }
        return request
    }

    /// A push to all listeners of a channel.
    static func broadcast(_ bearer: String?, channel: String) -> TestRequest {
        var request = TestRequest(
            path: "/4/broadcasts/apps/\(RunningSimulator.app)",
            headers: [
                ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-priority", "10"),
                ("apns-expiration", "0"), ("apns-request-id", id),
            ], body: update)
        if let bearer { request.headers.append(("authorization", "bearer \(bearer)")) }
        return request
    }

    /// The creation of a channel. With the policy "1" the channel stores its newest message.
    static func create(_ bearer: String?, policy: String = "0") -> TestRequest {
        var request = TestRequest(
            path: "/1/apps/\(RunningSimulator.app)/channels", headers: [("apns-request-id", id)],
            body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
        if let bearer { request.headers.append(("authorization", "bearer \(bearer)")) }
        return request
    }

    /// A request to read, list or delete channels.
    static func manage(_ method: String, _ bearer: String?, channel: String? = nil) -> TestRequest {
        var request = create(bearer)
        request.method = method
        request.body = ""
        if let channel { request.headers.append(("apns-channel-id", channel)) }
        return request
    }

    /// Returns a copy with one header replaced, or removed if the value is nil.
    func setting(_ name: String, _ value: String?) -> TestRequest {
        var request = self
        request.headers.removeAll { $0.0 == name }
        if let value { request.headers.append((name, value)) }
        return request
    }

    /// Returns a copy with a further header, also if the name is repeated.
    func adding(_ name: String, _ value: String) -> TestRequest {
        var request = self
        request.headers.append((name, value))
        return request
    }

    /// Returns a copy with another path.
    func at(_ path: String) -> TestRequest {
        var request = self
        request.path = path
        return request
    }

    func with(method: String) -> TestRequest {
        var request = self
        request.method = method
        return request
    }

    func with(body: String) -> TestRequest {
        var request = self
        request.body = body
        return request
    }
}
