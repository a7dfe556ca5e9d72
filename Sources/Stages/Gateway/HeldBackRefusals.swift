internal import HTTPServer
internal import Lifecycle

/// Refusals that are delayed to slow down guessing of keys. Beyond the limit a refusal is sent at once and
/// closes its connection.
final class HeldBackRefusals: Sendable {
    private let held: LoopOwned<Held>

    init(on loop: EventLoop, countMax: Int = GatewayLimits.heldBackMax) {
        held = LoopOwned(on: loop) { Held(on: $0.loop, countMax: countMax) }
    }

    func answer(_ reply: HTTPReply, _ response: HTTPResponse, afterMilliseconds delay: Int) {
        held.execute { $0.answer(reply, response, afterMilliseconds: delay) }
    }

    private final class Held {
        private let loop: EventLoop
        private let countMax: Int
        private var count = 0

        init(on loop: EventLoop, countMax: Int) {
            self.loop = loop
            self.countMax = countMax
        }

        func answer(_ reply: HTTPReply, _ response: HTTPResponse, afterMilliseconds delay: Int) {
            guard count < countMax else {
                var last = response
                last.closes = true
                return reply.send(last)
            }
            count += 1
            LoopTimer(on: loop) { [self] in
                count -= 1
                reply.send(response)
            }.schedule(at: loop.now.advanced(byMilliseconds: delay))
        }
    }
}
