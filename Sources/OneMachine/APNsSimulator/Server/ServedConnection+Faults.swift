internal import HTTP2

/// Faults of the whole connection.
extension ServedConnection {
    /// Applies the faults that act before the handshake, and keeps the others for later.
    func applyHandshakeFaults(_ first: [InjectedFault.ConnectionFault]) {
        for fault in first {
            switch fault {
            case .close: transport.close()
            case .stall(let milliseconds): stall(milliseconds: milliseconds)
            case .goaway, .settings, .starveWindows, .resetAfter: faults.initialFaults.append(fault)
            }
        }
    }

    func applyInitialFaults() {
        for fault in faults.initialFaults { apply(fault, at: 0) }
        faults.initialFaults.removeAll()
    }

    func apply(_ fault: InjectedFault.ConnectionFault?, at stream: Int32) {
        switch fault {
        case nil: break
        case .goaway(let code, let streamsBack, let reason, let thenClose):
            sendGoaway(
                code: code, lastStream: stream - Int32(clamping: streamsBack), reason: reason,
                thenClose: thenClose)
        case .settings(let streamsMax):
            state.isFixed = true
            allow(streams: streamsMax)
        case .stall(let milliseconds): stall(milliseconds: milliseconds)
        case .starveWindows: session.holdWindows()
        case .resetAfter(let bytes): faults.reset(afterBytes: bytes)
        case .close: transport.close()
        }
        if fault != nil { transport.requestFill() }
    }

    /// Ends the connection in good order. Started requests are answered.
    func shutDown(reason: String, code: HTTP2ErrorCode = .noError) {
        sendGoaway(code: code, lastStream: session.lastStream, reason: reason, thenClose: true)
        transport.requestFill()
    }

    func allow(streams: Int) {
        session.changeSettings(SettingsChange(concurrentStreamsMax: UInt32(clamping: streams)))
    }

    private func sendGoaway(code: HTTP2ErrorCode, lastStream: Int32, reason: String?, thenClose: Bool) {
        faults.lastStream = min(faults.lastStream, max(faults.settledStream, lastStream))
        faults.closesWhenDone = faults.closesWhenDone || thenClose
        faults.staysOpen = !faults.closesWhenDone
        session.goaway(
            lastStream: faults.lastStream, code: code,
            debug: reason.map { ReplyEncoder.body(reason: $0, timestamp: nil) } ?? [])
    }

    private func stall(milliseconds: Int) {
        faults.stalls += 1
        transport.pauseReading()
        simulator.delayedActions.schedule(afterMilliseconds: milliseconds) { [self] in
            faults.stalls -= 1
            guard faults.stalls == 0 else { return }
            transport.resumeReading()
            transport.requestFill()
        }
    }
}
