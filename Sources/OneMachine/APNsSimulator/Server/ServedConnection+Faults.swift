internal import HTTP2

/// Faults of the whole connection.
extension ServedConnection {
    /// Applies the faults that act before the handshake, and keeps the others for later.
    func begin(with first: [Ruling.ConnectionFault]) {
        for fault in first {
            switch fault {
            case .close: transport.close()
            case .stall(let milliseconds): stall(milliseconds)
            case .goaway, .settings, .starveWindows, .resetAfter: faults.first.append(fault)
            }
        }
    }

    func applyFirstFaults() {
        for fault in faults.first { apply(fault, at: 0) }
        faults.first.removeAll()
    }

    func apply(_ fault: Ruling.ConnectionFault?, at stream: Int32) {
        switch fault {
        case nil: break
        case .goaway(let code, let streamsBack, let reason, let thenClose):
            goaway(
                code, last: stream - Int32(clamping: streamsBack), saying: reason, thenClose: thenClose)
        case .settings(let streamsMax):
            standing.isFixed = true
            allow(streams: streamsMax)
        case .stall(let milliseconds): stall(milliseconds)
        case .starveWindows: session.holdWindows()
        case .resetAfter(let bytes): faults.reset(afterBytes: bytes)
        case .close: transport.close()
        }
        if fault != nil { transport.wantsToSend() }
    }

    /// Ends the connection in good order. Started requests are answered.
    func leave(saying reason: String, _ code: ErrorCode = .noError) {
        goaway(code, last: session.lastStream, saying: reason, thenClose: true)
        transport.wantsToSend()
    }

    func allow(streams: Int) {
        session.change(SettingsChange(concurrentStreamsMax: UInt32(clamping: streams)))
    }

    private func goaway(_ code: ErrorCode, last: Int32, saying reason: String?, thenClose: Bool) {
        faults.lastStream = min(faults.lastStream, max(faults.settledStream, last))
        faults.closesWhenDone = faults.closesWhenDone || thenClose
        faults.staysOpen = !faults.closesWhenDone
        session.goaway(
            lastStream: faults.lastStream, code: code,
            debug: reason.map { ReplyFrames.body($0, nil) } ?? [])
    }

    private func stall(_ milliseconds: Int) {
        faults.stalls += 1
        transport.pauseReading()
        simulator.waiting.add(milliseconds: milliseconds) { [self] in
            faults.stalls -= 1
            guard faults.stalls == 0 else { return }
            transport.resumeReading()
            transport.wantsToSend()
        }
    }
}
