import Lifecycle
import ProcessTesting
import Testing

@testable import Gateway
@testable import HTTPServer

/// The refusals that are sent after a delay, so that nobody can try keys fast.
struct DelayedRefusalsTests {
    @Test func `beyond the limit a refusal is sent at once and closes its connection`() async throws {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let delayed = DelayedRefusals(on: loop, countMax: 2)
        let replies = (0..<3).map { _ in HeldReply() }
        for held in replies {
            delayed.send(.text("no", status: 401), on: held.reply, afterMilliseconds: 200)
        }
        try await eventually("the last") { replies[2].response != nil }
        #expect(replies[2].response?.closesConnection == true)
        try await eventually("the others") { replies.allSatisfy { $0.response != nil } }
        #expect(replies[0].response?.closesConnection == false)
        try await onThread { loop.stop() }
    }
}
