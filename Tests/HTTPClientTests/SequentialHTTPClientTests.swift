import Glibc
import HTTPClient
import Lifecycle
import Testing

/// A client with its own thread, and the end of its requests.
@Test func `a request that waits for its answer fails when the client stops`() async throws {
    // The kernel completes the connection, and nothing reads the request.
    let (listener, address) = try TCPListener.bind(host: "127.0.0.1", port: 0)
    defer { close(listener) }
    let client = try SequentialHTTPClient(host: "127.0.0.1", port: address.port, name: "client")
    async let outcome = client.send(.init(method: "GET", path: "/"), withinMilliseconds: 60_000)
    var state = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    // `async let` begins the request on a shared thread, which this test must not block.
    while poll(&state, 1, 0) == 0 { try await Task.sleep(for: .milliseconds(5)) }
    client.stop()
    let reason: String? = if case .failed(let text) = await outcome { text } else { nil }
    #expect(reason == "the client has been stopped")
}
