import HTTP2
import Lifecycle
import ProcessTesting
import Testing

@testable import APNsSimulator

/// Each injected fault, and its effect on a client, the phone and the journal.
@Suite struct InjectedFaultTests {
    /// Starts a simulator that injects a fault into each request, by its number, and into each connection.
    private func startSimulator(
        faultsAtOpening: [Int: [InjectedFault.ConnectionFault]] = [:], phones: KnownTokens = KnownTokens(),
        journal: RecordedEntries = RecordedEntries(), faultsOfRequests: [Int: InjectedFault] = [:],
        change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws -> RunningSimulator {
        try RunningSimulator(
            phones: phones,
            faultInjector: FaultsByRequest(atOpening: faultsAtOpening) {
                faultsOfRequests[$0.request] ?? .none
            },
            journal: journal, change)
    }

    @Test func `a fault with an answer replaces APNs' answer, and the phone gets nothing`() async throws {
        let phones = KnownTokens()
        let simulator = try startSimulator(
            phones: phones,
            faultsOfRequests: [
                1: InjectedFault(
                    requestFault: .answer(
                        status: 503, reason: "ServiceUnavailable", timestamp: nil, retryAfterSeconds: 7)),
                2: InjectedFault(
                    requestFault: .answer(
                        status: 410, reason: "Unregistered", timestamp: 1_763_632_800_000,
                        retryAfterSeconds: nil)),
                3: InjectedFault(requestFault: .answerBody(status: 500, body: Array("<html>".utf8))),
                4: InjectedFault(
                    requestFault: .answer(status: 200, reason: "", timestamp: nil, retryAfterSeconds: nil)),
            ])
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        let first = await client.send(request)
        #expect(first.status == 503 && first.reason == "ServiceUnavailable")
        #expect(first.headers["retry-after"] == "7" && first.headers["apns-id"] == TestRequest.id)
        let second = await client.send(request)
        #expect(second.status == 410 && second.timestamp == 1_763_632_800_000)
        let third = await client.send(request)
        #expect(third.status == 500 && third.body == "<html>")
        #expect(await client.send(request).status == 200)
        #expect(phones.delivered.isEmpty)
        #expect(await client.send(request).status == 200)
        #expect(phones.delivered.count == 1)
    }

    @Test func `a reset stream has its code, with or without processing`() async throws {
        let phones = KnownTokens()
        let journal = RecordedEntries()
        let simulator = try startSimulator(
            phones: phones, journal: journal,
            faultsOfRequests: [
                1: InjectedFault(requestFault: .reset(.refusedStream, processed: false)),
                2: InjectedFault(requestFault: .reset(.internalError, processed: true)),
            ])
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        #expect(await client.send(request).end == .refused)
        #expect(phones.delivered.isEmpty)
        let second = await client.send(request)
        #expect(second.end == .reset && second.code == .internalError)
        #expect(phones.delivered.count == 1)
        #expect(journal.entries.map(\.outcome) == [.reset(.refusedStream), .reset(.internalError)])
        #expect(journal.entries.map(\.isDelivered) == [false, true])
    }

    @Test func `a silent request never ends, with or without processing`() async throws {
        let phones = KnownTokens()
        let simulator = try startSimulator(
            phones: phones,
            faultsOfRequests: [
                1: InjectedFault(requestFault: .silence(processed: true)),
                2: InjectedFault(requestFault: .silence(processed: false)),
            ]
        ) { $0.streams.initialStreams = 100 }
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        async let first = client.send(request)
        async let second = client.send(request)
        try await eventually("the processed request") { phones.delivered.count == 1 }
        #expect(await client.send(request).status == 200)
        #expect(phones.delivered.count == 2)
        client.close()
        let ends = await [first.end, second.end]
        #expect(ends == [.connectionLost, .connectionLost])
    }

    @Test func `a delayed answer comes after the answers to later requests`() async throws {
        let journal = RecordedEntries()
        var delayed = InjectedFault()
        delayed.delayMilliseconds = 300
        let simulator = try startSimulator(journal: journal, faultsOfRequests: [1: delayed]) {
            $0.streams.initialStreams = 100
        }
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        async let first = client.send(request)
        async let second = client.send(request)
        let answers = await [first, second]
        #expect(answers.map(\.status) == [200, 200])
        try await eventually("both entries") { journal.entries.count == 2 }
        #expect(journal.entries.map(\.facts.request) == [2, 1])
        #expect(journal.entries[1].endedAt - journal.entries[1].facts.receivedAt >= 299)
    }

    @Test func `a delayed request is processed even if its sender is gone`() async throws {
        let phones = KnownTokens()
        let journal = RecordedEntries()
        var delayed = InjectedFault()
        delayed.delayMilliseconds = 6_000
        let simulator = try startSimulator(phones: phones, journal: journal, faultsOfRequests: [1: delayed])
        let client = simulator.client()
        async let answer = client.send(.push(simulator.makeProviderToken()))
        try await eventually("the request") {
            (simulator.loop.perform { simulator.simulator.requestsReceived } ?? 0) == 1
        }
        client.close()
        #expect(await answer.end == .connectionLost)
        try await eventually("the push") { phones.delivered.count == 1 }
        try await eventually("its entry") { journal.entries.count == 1 }
        #expect(journal.entries[0].outcome == .answered(status: 200, reason: nil, isSent: false))
    }

    @Test func `streams above the last one of a GOAWAY are not processed`() async throws {
        let phones = KnownTokens()
        let journal = RecordedEntries()
        var delayed = InjectedFault()
        delayed.delayMilliseconds = 2_000
        var goawayFault = InjectedFault()
        // The fourth request has stream 7, so the GOAWAY excludes the streams above 3.
        goawayFault.connectionFault = .goaway(.noError, streamsBack: 4, reason: "Shutdown", thenClose: true)
        let simulator = try startSimulator(
            phones: phones, journal: journal,
            faultsOfRequests: [1: delayed, 2: delayed, 3: delayed, 4: goawayFault]
        ) { $0.streams.initialStreams = 100 }
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        async let first = client.send(request)
        async let second = client.send(request)
        async let third = client.send(request)
        async let fourth = client.send(request)
        let answers = await [first, second, third, fourth]
        let answered = answers.filter { $0.end == .answered }
        #expect(answered.count == 2 && answered.allSatisfy { $0.status == 200 })
        #expect(answers.filter { $0.end == .notProcessed }.count == 2)
        try await eventually("all entries") { journal.entries.count == 4 }
        #expect(phones.delivered.count == 2)
        #expect(journal.entries.filter { $0.outcome == .notProcessed }.count == 2)
        let goaway = try #require(client.goaway)
        #expect(goaway.lastStream == 3 && goaway.code == .noError)
        #expect(String(decoding: goaway.debug, as: UTF8.self) == #"{"reason":"Shutdown"}"#)
        try await eventually("the end of the connection") { client.closeReason != nil }
    }

    @Test func `a GOAWAY need not close the connection`() async throws {
        var fault = InjectedFault()
        fault.connectionFault = .goaway(.enhanceYourCalm, streamsBack: 0, reason: nil, thenClose: false)
        let simulator = try startSimulator(faultsOfRequests: [1: fault])
        let client = simulator.client()
        #expect(await client.send(.push(simulator.makeProviderToken())).status == 200)
        try await eventually("the GOAWAY") { client.goaway?.code == .enhanceYourCalm }
        #expect(client.goaway?.lastStream == 1)
    }

    @Test func `SETTINGS change the streams`() async throws {
        var fault = InjectedFault()
        fault.connectionFault = .settings(streamsMax: 0)
        let simulator = try startSimulator(faultsOfRequests: [2: fault])
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        #expect(await client.send(request).status == 200)
        #expect(await client.send(request).status == 200)
        try await eventually("the stream limit of 0") { client.streamsMax.last == 0 }
    }

    @Test func `a stalled connection continues afterwards`() async throws {
        var fault = InjectedFault()
        fault.connectionFault = .stall(milliseconds: 300)
        let simulator = try startSimulator(faultsOfRequests: [1: fault])
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        let startedAt = Instant.now()
        #expect(await client.send(request).status == 200)
        #expect(Instant.now().milliseconds(since: startedAt) >= 290)
        #expect(await client.send(request).status == 200)
    }

    @Test func `a client without window updates waits forever`() async throws {
        let phones = KnownTokens()
        var fault = InjectedFault()
        fault.connectionFault = .starveWindows
        let simulator = try startSimulator(phones: phones, faultsOfRequests: [1: fault]) {
            $0.streams.initialStreams = 1_000
        }
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken()).with(
            body: ReasonTests.paddedBody(byteCount: 4_000))
        #expect(await client.send(request).status == 200)
        // The window of a connection is 1 MiB: about 262 bodies of 4,000 bytes.
        async let acceptedCount = withTaskGroup(of: Int.self) { group in
            for _ in 0..<300 { group.addTask { await client.send(request).status } }
            return await group.reduce(into: 0) { $0 += $1 == 200 ? 1 : 0 }
        }
        try await eventually("the window to be used up") { phones.delivered.count >= 262 }
        client.close()
        let accepted = await acceptedCount
        #expect((255..<264).contains(accepted), "\(accepted)")
    }

    @Test func `a connection with a byte limit is reset when the limit is reached`() async throws {
        let journal = RecordedEntries()
        var fault = InjectedFault()
        fault.connectionFault = .resetAfter(bytes: 5)
        let simulator = try startSimulator(journal: journal, faultsOfRequests: [2: fault])
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        #expect(await client.send(request).status == 200)
        #expect(await client.send(request).end == .connectionLost)
        try await eventually("the break") { client.closeReason?.contains("reset") == true }
        try await eventually("the entry") { journal.entries.count == 2 }
        #expect(journal.entries[1].outcome == .answered(status: 200, reason: nil, isSent: false))
    }

    @Test func `a closed connection sends nothing`() async throws {
        var fault = InjectedFault()
        fault.connectionFault = .close
        let simulator = try startSimulator(faultsOfRequests: [1: fault])
        let client = simulator.client()
        #expect(await client.send(.push(simulator.makeProviderToken())).end == .connectionLost)
        #expect(client.goaway == nil)
    }

    @Test func `a connection can be closed or stalled before its handshake`() async throws {
        let simulator = try startSimulator(faultsAtOpening: [
            1: [.close], 2: [.stall(milliseconds: 300)], 3: [.settings(streamsMax: 7)],
        ])
        #expect(await simulator.client().send(.push(simulator.makeProviderToken())).end == .notProcessed)
        let startedAt = Instant.now()
        #expect(await simulator.client().send(.push(simulator.makeProviderToken())).status == 200)
        #expect(Instant.now().milliseconds(since: startedAt) >= 290)
        let third = simulator.client()
        #expect(await third.send(.push(simulator.makeProviderToken())).status == 200)
        // A second provider token on one connection comes too soon.
        #expect(
            await third.send(.push(simulator.makeProviderToken())).reason == "TooManyProviderTokenUpdates")
        #expect(third.streamsMax.last == 7)
    }
}
