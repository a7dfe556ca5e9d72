import APNsSimulator
import Cryptography
import Identifiers
import Lifecycle
import Payloads
import ProcessTesting
import TLS
import Testing

@testable import APNs

/// The client against the simulator, which is stricter than APNs.
@Suite struct SimulatorTests {
    /// A simulator without faults, and a client for its sandbox.
    private final class Stand: Sendable {
        let run: RunningLoop
        let simulator: Simulator
        let pusher: Pusher
        let profile: PushProfile

        init(_ change: (inout SimulatorSettings) -> Void = { _ in }) throws {
            let credentials = SimulatorCredentials()
            var settings = SimulatorSettings()
            change(&settings)
            run = try RunningLoop()
            let simulator = Simulator(settings: settings, credentials: credentials, on: run.loop)
            try simulator.start()
            self.simulator = simulator
            let name = ProviderKeyName(
                teamID: SimulatorCredentials.teamID, keyID: credentials.keyID)
            profile = PushProfile(environment: .sandbox, bundleID: "com.example.matchday", key: name)
            let ports = simulator.ports
            pusher = try Pusher(
                Endpoint(host: "localhost", port: ports.sandbox),
                trust: .authorities(.text(credentials.authority.certificatePEM)),
                key: (name, credentials.signingKey.pem)
            ) { $0.sandbox.channels = Endpoint(host: "localhost", port: ports.sandboxChannels) }
        }

        var channels: ChannelClient { pusher.onLoop { ChannelClient(client: $0) } }
    }

    @Test func `the simulator accepts the client's pushes`() async throws {
        let stand = try Stand()
        stand.pusher.push(1..<3_001, profile: stand.profile)
        let outcomes = try await stand.pusher.allOutcomes(atLeast: 3_000)
        let refused = outcomes.values.first { $0[0].disposition != .accepted }
        #expect(refused == nil, "\(String(describing: refused))")
    }

    @Test func `channels are created, read, listed and deleted, and a broadcast reaches one`() async throws {
        let stand = try Stand()
        let channels = stand.channels
        let live = try await channels.createChannel(for: stand.profile, storing: .none)
        let kept = try await channels.createChannel(for: stand.profile, storing: .newest)
        #expect(try await channels.storagePolicy(for: stand.profile, ofChannel: live) == .none)
        #expect(try await channels.storagePolicy(for: stand.profile, ofChannel: kept) == .newest)
        #expect(try await Set(channels.listChannels(for: stand.profile)) == [live, kept])

        let profile = stand.profile
        let broadcast = { @Sendable (tag: UInt64, channel: String) in
            stand.pusher.onLoop { client in
                let headers = BroadcastHeaders(channelID: channel, priority: .powerSaving, expiration: 0)
                guard let template = try? client.template(profile, broadcast: headers, body: Pusher.body)
                else {
                    return
                }
                let deadline = client.loop.now.advanced(byMilliseconds: 60_000)
                _ = try? client.push(
                    template, token: Span(), id: PushID(high: 1, low: tag), tag: tag,
                    deadlines: PushDeadlines(deadline: deadline))
            }
        }
        broadcast(1, live)
        let accepted = try await stand.pusher.outcome(of: 1)
        #expect(accepted.disposition == .accepted, "\(accepted)")

        try await channels.deleteChannel(for: stand.profile, id: live)
        #expect(try await channels.listChannels(for: stand.profile) == [kept])
        broadcast(2, live)
        #expect(try await stand.pusher.outcome(of: 2).disposition == .channelGone)
    }

    @Test func `a refused channel request carries its disposition`() async throws {
        let stand = try Stand { $0.channelsMax = 1 }
        _ = try await stand.channels.createChannel(for: stand.profile, storing: .none)
        do {
            _ = try await stand.channels.createChannel(for: stand.profile, storing: .none)
            Issue.record("a second channel was made")
        } catch {
            guard case .refused(let answer) = error else { throw error }
            #expect(answer.disposition == .channelLimit)
        }
    }

    @Test func `the client refuses a bundle id that a path cannot contain`() async throws {
        let stand = try Stand()
        let odd = PushProfile(environment: .sandbox, bundleID: "com example", key: stand.profile.key)
        await #expect(throws: ChannelError.self) { try await stand.channels.listChannels(for: odd) }
    }
}
