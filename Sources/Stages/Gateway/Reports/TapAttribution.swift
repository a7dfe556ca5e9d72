internal import Lifecycle

/// The bodies of reports whose taps wait for the insight stage to name the sends behind them. A body goes on when all
/// its answers are here, or when their time is over. Confined to the thread of the `ReportWriter`.
final class TapAttribution {
    /// Asks for the origin of a tap. Returns false if too many queries wait. Otherwise the last argument receives the
    /// answer, on any thread. The answer is nil if insight does not know the send.
    typealias FindOrigin =
        @Sendable (_ app: String, ValidatedReports.Tap, @escaping @Sendable (TapOrigin?) -> Void) -> Bool
    /// Passes an answer to `receive`, on the thread of the `ReportWriter`.
    typealias PassAnswer = @Sendable (_ body: UInt64, _ index: Int, TapOrigin?) -> Void

    /// A body that waits.
    private struct WaitingBody {
        var reports: ValidatedReports
        var missingAnswerCount: Int
        let timer: LoopTimer
        /// Receives the reports.
        let finish: (ValidatedReports) -> Void
    }

    private let loop: EventLoop
    private let findOrigin: FindOrigin
    private let passAnswer: PassAnswer
    private var waiting: [UInt64: WaitingBody] = [:]
    private var lastNumber: UInt64 = 0

    init(on loop: EventLoop, findOrigin: @escaping FindOrigin, passAnswer: @escaping PassAnswer) {
        self.loop = loop
        self.findOrigin = findOrigin
        self.passAnswer = passAnswer
    }

    /// Finds the origins of the taps, and passes the reports to `finish`: at once if there is nothing to ask, or if too many
    /// bodies wait.
    func attribute(
        _ reports: ValidatedReports, of app: String, then finish: @escaping (ValidatedReports) -> Void
    ) {
        let taps = reports.taps.filter { $0.tap.sendID == nil && $0.tap.activity != nil }
            .prefix(GatewayLimits.tapsAskedPerBodyMax)
        if taps.isEmpty || waiting.count >= GatewayLimits.bodiesWithTapsWaitingMax { return finish(reports) }
        lastNumber += 1
        let number = lastNumber
        let passAnswer = passAnswer
        var askedCount = 0
        for (index, tap) in taps {
            let isAsked = findOrigin(app, tap) { passAnswer(number, index, $0) }
            if isAsked { askedCount += 1 }
        }
        if askedCount == 0 { return finish(reports) }
        let timer = LoopTimer(on: loop) { [unowned self] in finishBody(number) }
        waiting[number] = WaitingBody(
            reports: reports, missingAnswerCount: askedCount, timer: timer, finish: finish)
        timer.schedule(at: loop.now.advanced(byMilliseconds: GatewayLimits.tapMilliseconds))
    }

    /// Takes over an answer. An answer that comes too late is dropped.
    ///
    /// - Parameter index: The tap's index in the body.
    func receive(_ origin: TapOrigin?, forTapAt index: Int, ofBody number: UInt64) {
        guard waiting[number] != nil else { return }
        if let origin { waiting[number]?.reports.attribute(tapAt: index, to: origin) }
        waiting[number]?.missingAnswerCount -= 1
        if waiting[number]?.missingAnswerCount == 0 { finishBody(number) }
    }

    private func finishBody(_ number: UInt64) {
        guard let body = waiting.removeValue(forKey: number) else { return }
        body.timer.cancel()
        body.finish(body.reports)
    }

    /// Forgets all bodies, because the gateway stops. The server has stopped before, and has answered their clients.
    func stop() {
        for body in waiting.values { body.timer.cancel() }
        waiting.removeAll()
    }
}
