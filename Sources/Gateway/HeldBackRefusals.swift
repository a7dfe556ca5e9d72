internal import HTTPServer
internal import Lifecycle

/// Refusals that are given later, so that who tries keys cannot try many. Beyond the limit they are given
/// at once, and for the last time on that connection.
///
/// `@unchecked Sendable`: the count is touched on the loop only.
final class HeldBackRefusals: @unchecked Sendable {
    private let loop: EventLoop
    private let countMax: Int
    private var count = 0

    init(on loop: EventLoop, countMax: Int = GatewayLimits.heldBackMax) {
        self.loop = loop
        self.countMax = countMax
    }

    func answer(_ reply: HTTPReply, _ response: HTTPResponse, afterMilliseconds delay: Int) {
        loop.execute {
            guard self.count < self.countMax else {
                var last = response
                last.closes = true
                return reply.send(last)
            }
            self.count += 1
            LoopTimer(on: self.loop) { [self] in
                count -= 1
                reply.send(response)
            }.schedule(at: self.loop.now.advanced(byMilliseconds: delay))
        }
    }
}
