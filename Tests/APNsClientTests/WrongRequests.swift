import HTTP2
import Testing

@testable import APNs

/// A request that APNs refuses for one reason. It is a valid push, or a valid request of another kind, with one change.
/// The client sends it like any other request. The tokens `aa01` to `ad01` are dead (`SimulatorStand`).
struct WrongRequest: Sendable, CustomTestStringConvertible {
    enum Port: Sendable { case push, channels }

    let reason: APNsReason
    var key = SimulatorStand.Key.valid
    /// Seconds by which the client's clock is behind.
    var clockLagSeconds = 0
    var method = "POST"
    var port = Port.push
    var path = "/3/device/" + String(repeating: "c0de", count: 16)
    var headers = [
        ("apns-push-type", "liveactivity"), ("apns-topic", topic), ("apns-priority", "10"),
        ("apns-expiration", "0"),
    ]
    var body = String(decoding: Pusher.body, as: UTF8.self)
    /// Number of times that the client sends it before it reports the outcome.
    var attempts = 1
    var testDescription: String { "\(reason.rawValue), \(method) \(path.prefix(40))" }

    static let topic = SimulatorStand.app + ".push-type.liveactivity"
    private static let broadcasts = "/4/broadcasts/apps/"
    private static let someChannel = "c29tZS1jaGFubmVs"

    init(_ reason: APNsReason, spoiledBy spoil: (inout WrongRequest) -> Void) {
        self.reason = reason
        spoil(&self)
    }

    /// A broadcast with one change.
    private static func broadcast(
        _ reason: APNsReason, spoiledBy spoil: (inout WrongRequest) -> Void
    ) -> WrongRequest {
        WrongRequest(reason) {
            $0.path = broadcasts + SimulatorStand.app
            $0["apns-topic"] = nil
            $0["apns-channel-id"] = someChannel
            spoil(&$0)
        }
    }

    /// The creation of a channel with one change.
    private static func create(_ reason: APNsReason, spoiledBy spoil: (inout WrongRequest) -> Void)
        -> WrongRequest
    {
        WrongRequest(reason) {
            $0.port = .channels
            $0.path = "/1/apps/\(SimulatorStand.app)/channels"
            $0.headers = []
            $0.body = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
            spoil(&$0)
        }
    }

    /// The header of this name. A nil removes it.
    private subscript(_ name: String) -> String? {
        get { headers.first { $0.0 == name }?.1 }
        set {
            headers.removeAll { $0.0 == name }
            if let newValue { headers.append((name, newValue)) }
        }
    }

    /// Pushes to a device token.
    static let pushes: [WrongRequest] = [
        WrongRequest(.badPath) { $0.path = "/2/device/c0de" },
        WrongRequest(.methodNotAllowed) { $0.method = "PUT" },
        WrongRequest(.missingDeviceToken) { $0.path = "/3/device/" },
        WrongRequest(.badDeviceToken) { $0.path = "/3/device/nothex" },
        WrongRequest(.badDeviceToken) { $0.path = "/3/device/aa01" },
        WrongRequest(.deviceTokenNotForTopic) { $0.path = "/3/device/ab01" },
        WrongRequest(.unregistered) { $0.path = "/3/device/ac01" },
        WrongRequest(.expiredToken) { $0.path = "/3/device/ad01" },
        WrongRequest(.duplicateHeaders) { $0.headers.append(("apns-topic", topic)) },
        WrongRequest(.badMessageID) { $0["apns-id"] = "not-an-id" },
        WrongRequest(.invalidPushType) { $0["apns-push-type"] = "alert" },
        WrongRequest(.badPriority) { $0["apns-priority"] = "3" },
        WrongRequest(.badExpirationDate) { $0["apns-expiration"] = "soon" },
        WrongRequest(.badCollapseID) { $0["apns-collapse-id"] = String(repeating: "x", count: 65) },
        WrongRequest(.missingTopic) { $0["apns-topic"] = nil },
        WrongRequest(.badTopic) { $0["apns-topic"] = SimulatorStand.app },
        WrongRequest(.payloadEmpty) { $0.body = "" },
        WrongRequest(.payloadTooLarge) { $0.body = String(repeating: " ", count: 4_097) },
        WrongRequest(.invalidProviderToken) { $0.key = .forged },
        WrongRequest(.badEnvironmentKey) { $0.key = .sandboxOnly },
        WrongRequest(.topicDisallowed) { $0.key = .otherApp },
        // Two attempts: a young token that has expired is first tried over another connection.
        WrongRequest(.expiredProviderToken) {
            $0.clockLagSeconds = 7_200
            $0.attempts = 2
        },
    ]

    static let broadcastsAndChannels: [WrongRequest] = [
        broadcast(.missingPushType) { $0["apns-push-type"] = nil },
        broadcast(.missingChannelID) { $0["apns-channel-id"] = nil },
        broadcast(.badChannelID) { $0["apns-channel-id"] = "?" },
        broadcast(.channelNotRegistered) { _ in },
        broadcast(.badRequestParameters) { $0["apns-topic"] = topic },
        broadcast(.topicMismatch) { $0.key = .otherApp },
        broadcast(.featureNotEnabled) { $0.path = broadcasts + SimulatorStand.quietApp },
        create(.badRequestPayload) { $0.body = "{" },
        create(.missingChannelQueueSize) { $0.body = #"{"push-type":"LiveActivity"}"# },
        create(.cannotCreateChannel) { _ in },
    ]

    /// Makes the request as a template, without the checks of the client's own functions.
    func template(for client: APNsClient, profile: PushProfile) throws -> PushTemplate {
        let hosts = client.provider.settings.hosts(for: profile.environment)
        let key = ConnectionPool.Key(
            endpoint: port == .push ? hosts.push : hosts.channels, profile: profile,
            purpose: port == .push ? .pushes(.usual) : .channelManagement)
        return try PushTemplate(
            .fixed(path: Array(path.utf8)), method: method,
            headers: headers.map { HeaderField(name: $0.0, value: $0.1) },
            body: Array(body.utf8), pool: client.pool(for: key))
    }
}
