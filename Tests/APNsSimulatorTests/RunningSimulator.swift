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

/// A simulated APNs on its own ports, without the control API. It runs as long as this object lives. A test gives it
/// phones, faults and a journal (`Observers.swift`), and sends requests with a `PushClient`.
final class RunningSimulator: Sendable {
    /// The bundle id of the one app.
    static let app = "com.example.matchday"

    let loop: EventLoop
    let simulator: Simulator
    let credentials: SimulatorCredentials
    /// Trusts the simulator's certificate.
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

    // The last reference may be released on the loop, which cannot wait for itself. So another thread stops it.
    deinit {
        Thread.detachNewThread { [loop, simulator] in
            loop.stop()
            withExtendedLifetime(simulator) {}
        }
    }

    /// Connects a client for pushes, or for the management of channels.
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

    /// Returns a new provider token of the simulator's own key, or of another key. APNs counts it as a new one even if
    /// its claims are those of an earlier token.
    func makeProviderToken(
        age seconds: Int64 = 0, keyID: String? = nil, teamID: String = SimulatorCredentials.teamID,
        key: SigningKey? = nil
    ) -> String {
        ProviderToken.make(
            teamID: teamID, keyID: keyID ?? credentials.keyID, key: key ?? credentials.signingKey,
            at: WallTime(milliseconds: WallTime.now().milliseconds - seconds * 1_000))
    }
}
