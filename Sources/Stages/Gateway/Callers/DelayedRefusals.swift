internal import HTTPServer
internal import Lifecycle

/// Refusals that wait for their delay on an event loop: those of wrong keys (`FailedAttempts`), and those of phones that
/// exceed a rate. A caller that waits for its refusal makes no other request on that connection. Beyond the limit a refusal
/// is sent at once and closes its connection.
final class DelayedRefusals: Sendable {
    private let delayed: LoopOwned<DelayedReplies>

    init(on loop: EventLoop, countMax: Int = GatewayLimits.delayedRefusalsMax) {
        delayed = LoopOwned(on: loop) { DelayedReplies(on: $0.loop, countMax: countMax) }
    }

    /// Sends a refusal after a delay. Any thread may call it.
    func send(_ response: HTTPResponse, on reply: HTTPReply, afterMilliseconds delay: Int) {
        delayed.execute { $0.send(response, on: reply, afterMilliseconds: delay) }
    }

    /// Sends the refusal of a request beyond a rate: after a delay if the caller's address is counted, and at once to a
    /// backend, whose address is not.
    func send(_ response: HTTPResponse, beyondRateOf caller: RequestCaller, on reply: HTTPReply) {
        if caller.countedPeer == nil { return reply.send(response) }
        send(response, on: reply, afterMilliseconds: GatewayLimits.rateRefusalMilliseconds)
    }

    /// The refusals that wait, confined to the loop. Their timers keep this object alive.
    private final class DelayedReplies {
        private let loop: EventLoop
        private let countMax: Int
        private var count = 0

        init(on loop: EventLoop, countMax: Int) {
            self.loop = loop
            self.countMax = countMax
        }

        func send(_ response: HTTPResponse, on reply: HTTPReply, afterMilliseconds delay: Int) {
            guard count < countMax else {
                var closingResponse = response
                closingResponse.closesConnection = true
                return reply.send(closingResponse)
            }
            count += 1
            LoopTimer(on: loop) { [self] in
                count -= 1
                reply.send(response)
            }.schedule(at: loop.now.advanced(byMilliseconds: delay))
        }
    }
}
