internal import HTTP2

/// Injected faults of the whole connection: a GOAWAY, a new limit on streams, a stall, windows that are not
/// enlarged, a reset or a close.
extension ServedConnection {
    /// Applies the faults that act before the handshake, and keeps the others until HTTP/2 begins.
    func applyHandshakeFaults(_ openingFaults: [InjectedFault.ConnectionFault]) {
        for fault in openingFaults {
            switch fault {
            case .close: transport.close()
            case .stall(let milliseconds): stall(milliseconds: milliseconds)
            case .goaway, .settings, .starveWindows, .resetAfter: faults.initialFaults.append(fault)
            }
        }
    }

    /// Applies the kept faults. Called when the handshake is complete.
    func applyInitialFaults() {
        // No stream exists yet, so the last stream of a GOAWAY is counted back from 0.
        for fault in faults.initialFaults { apply(fault, at: 0) }
        faults.initialFaults.removeAll()
    }

    /// Applies a fault now. Nil does nothing.
    /// - Parameter stream: the stream from which the last stream of a GOAWAY is counted back.
    func apply(_ fault: InjectedFault.ConnectionFault?, at stream: Int32) {
        switch fault {
        case nil: break
        case .goaway(let code, let streamsBack, let reason, let thenClose):
            sendGoaway(
                code: code, lastStream: stream - Int32(clamping: streamsBack), reason: reason,
                thenClose: thenClose)
        case .settings(let streamsMax):
            // From now on, answers do not change the number of streams.
            state.isAllowanceFixed = true
            allow(streams: streamsMax)
        case .stall(let milliseconds): stall(milliseconds: milliseconds)
        case .starveWindows: session.holdWindows()
        case .resetAfter(let bytes): faults.reset(afterByteCount: bytes)
        case .close: transport.close()
        }
        if fault != nil { transport.requestFill() }
    }

    /// Sends a GOAWAY and closes the connection when the started requests are answered.
    func shutDown(reason: String, code: HTTP2ErrorCode = .noError) {
        sendGoaway(code: code, lastStream: session.lastStream, reason: reason, thenClose: true)
        transport.requestFill()
    }

    /// Tells the client a new limit on concurrent streams.
    func allow(streams: Int) {
        session.changeSettings(SettingsChange(concurrentStreamsMax: UInt32(clamping: streams)))
    }

    /// Sends a GOAWAY. Its last stream never rises, and is never below a stream that was answered or
    /// processed.
    private func sendGoaway(code: HTTP2ErrorCode, lastStream: Int32, reason: String?, thenClose: Bool) {
        faults.goawayLastStream = min(faults.goawayLastStream, max(faults.settledStream, lastStream))
        faults.recordGoaway(thenClose: thenClose)
        session.sendGoaway(
            lastStream: faults.goawayLastStream, code: code,
            debug: reason.map { ReplyEncoder.body(reason: $0, timestamp: nil) } ?? [])
    }

    /// Neither reads nor writes for a while. Stalls may overlap, and the last one to end resumes.
    private func stall(milliseconds: Int) {
        faults.stallCount += 1
        transport.pauseReading()
        simulator.delayedActions.schedule(afterMilliseconds: milliseconds) { [self] in
            faults.stallCount -= 1
            guard faults.stallCount == 0 else { return }
            transport.resumeReading()
            transport.requestFill()
        }
    }
}
