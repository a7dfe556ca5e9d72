import APNs
import Cryptography
import Foundation
import HTTP2
import Identifiers
import Lifecycle
import TLS
import Telemetry
import Testing

@testable import APNsSimulator

/// A simulated APNs on its own ports. It runs as long as this object lives.
final class RunningSimulator: Sendable {
    static let app = "com.example.matchday"

    let loop: EventLoop
    let simulator: Simulator
    let credentials: SimulatorCredentials
    let trust: TLSContext

    init(
        phones: (any SimulatedPhones & Sendable)? = nil, faultInjector: (any FaultInjector & Sendable)? = nil,
        journal: (any JournalSink & Sendable)? = nil,
        credentials: SimulatorCredentials = SimulatorCredentials(),
        _ change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws {
        self.credentials = credentials
        loop = try EventLoop(name: "simulator")
        try loop.start()
        var settings = SimulatorSettings()
        change(&settings)
        simulator = Simulator(
            settings: settings, credentials: credentials, on: loop, phones: phones,
            faultInjector: faultInjector,
            journal: journal
        )
        trust = try TLSContext.client(trust: .authorities(.text(credentials.authority.certificatePEM)))
        try simulator.start()
    }

    /// The last reference may be released on the loop, which cannot wait for itself. So another thread stops
    /// it.
    deinit {
        Thread.detachNewThread { [loop, simulator] in
            loop.stop()
            withExtendedLifetime(simulator) {}
        }
    }

    func client(_ environment: Environment = .production, channels: Bool = false) -> PushClient {
        let ports = simulator.ports
        let port =
            switch (environment, channels) {
            case (.production, false): ports.production
            case (.sandbox, false): ports.sandbox
            case (.production, true): ports.productionChannels
            case (.sandbox, true): ports.sandboxChannels
            }
        return PushClient(port: port, trust: trust, on: loop)
    }

    /// Returns a provider token of the simulator's own key, or of another key.
    func token(
        age seconds: Int64 = 0, keyID: String? = nil, teamID: String = SimulatorCredentials.teamID,
        key: SigningKey? = nil
    ) -> String {
        ProviderToken.make(
            teamID: teamID, keyID: keyID ?? credentials.keyID, key: key ?? credentials.signingKey,
            at: WallTime(milliseconds: WallTime.now().milliseconds - seconds * 1000))
    }
}

/// One request, which is valid until a test changes it.
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

    /// The creation of a channel.
    static func create(_ bearer: String?, policy: String = "0") -> TestRequest {
        var request = TestRequest(
            path: "/1/apps/\(RunningSimulator.app)/channels", headers: [("apns-request-id", id)],
            body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
        if let bearer { request.headers.append(("authorization", "bearer \(bearer)")) }
        return request
    }

    /// Another request about a channel.
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
