internal import Lifecycle

extension TLSConnection {
    // MARK: In

    var isAlive: Bool {
        switch phase {
        case .connecting, .handshaking, .open, .finishing: true
        case .lingering, .ending, .closed: false
        }
    }

    func processInput() {
        var needsInput = false
        while isAlive, !needsInput {
            switch session.nextEvent() {
            case .needsInput:
                needsInput = true
            case .established(let applicationProtocol):
                phase = .open
                timer?.cancel()
                requestHook()
                // The delegate may send ahead on another connection, which uses the same scratch.
                sendOutgoing()
                delegate?.didEstablish(applicationProtocol: applicationProtocol)
            case .plaintext(let bytes):
                requestHook()
                sendOutgoing()
                unsafe delegate?.didReceive(bytes)
                session.dropPlaintext()
            case .ended:
                session.shutdown()
                end(because: .closedByPeer(withCloseAlert: true))
                finishTCP()
            case .failed(let failure):
                refuse(because: failure)
            }
        }
        sendOutgoing()
    }

    /// Sends the alert that tells the peer the reason, and reads nothing more.
    func refuse(because failure: TLSFailure) {
        end(because: .refused(failure))
        finishTCP()
    }

    /// Sends the remaining bytes and then ends the TCP connection.
    func finishTCP() {
        sendOutgoing()
        tcp?.finish()
    }

    // MARK: Out

    func sendOutgoing() {
        let bytes = unsafe session.outgoing
        guard unsafe !bytes.isEmpty else { return }
        if let tcp, unsafe !tcp.sendNow(bytes) { canSend = false }
        session.dropOutgoing()
    }

    /// Pulls plaintext and sends it, up to the limit of a turn.
    func sendPlaintext() {
        precondition(unsafe session.outgoing.isEmpty, "ciphertext of an earlier turn waits to be sent")
        var isDry = false
        do throws(TLSFailure) {
            while canSend, !isDry, !scratch.isFull, isAlive { try sendRecord(&isDry) }
        } catch {
            return refuse(because: error)
        }
        sendOutgoing()
        if !isDry, canSend { return requestHook() }
        if isDry, case .finishing = phase {
            session.shutdown()
            phase = .lingering
            finishTCP()
        }
    }

    /// Has the owner fill one record, and encrypts it.
    func sendRecord(_ isDry: inout Bool) throws(TLSFailure) {
        try unsafe scratch.withRecord(of: session) { (record) throws(TLSFailure) in
            var count = 0
            while count < record.count, let delegate {
                let room = unsafe UnsafeMutableRawBufferPointer(rebasing: record[count...])
                let written = unsafe delegate.fill(room)
                precondition(written >= 0 && written <= room.count, "fill returned too many bytes")
                count += written
                isDry = written == 0
                if isDry { break }
            }
            guard count > 0, isAlive else { return }
            try unsafe session.encrypt(UnsafeRawBufferPointer(rebasing: record[..<count]))
        }
    }
}
