internal import Lifecycle

extension TLSConnection {
    // MARK: In

    /// Whether the connection still processes input.
    var isAlive: Bool {
        switch phase {
        case .connecting, .handshaking, .open, .finishing: true
        case .lingering, .ending, .closed: false
        }
    }

    /// Processes the ciphertext that the session has, and sends the session's answers.
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
                // The delegate may send on another connection, and that connection uses the same scratch
                // memory.
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

    /// Sends the session's ciphertext. The socket keeps the bytes that it cannot send yet.
    func sendOutgoing() {
        let bytes = unsafe session.outgoing
        guard unsafe !bytes.isEmpty else { return }
        if let tcp {
            let isFullySent = unsafe tcp.sendNow(bytes)
            if !isFullySent { canSend = false }
        }
        session.dropOutgoing()
    }

    /// Pulls plaintext from the owner and sends it, up to the limit of an iteration.
    func sendPlaintext() {
        precondition(unsafe session.outgoing.isEmpty, "ciphertext of an earlier iteration waits to be sent")
        var isOwnerEmpty = false
        do throws(TLSFailure) {
            while canSend, !isOwnerEmpty, !scratch.isFull, isAlive { try encryptRecord(&isOwnerEmpty) }
        } catch {
            return refuse(because: error)
        }
        sendOutgoing()
        if !isOwnerEmpty, canSend { return requestHook() }
        if isOwnerEmpty, case .finishing = phase {
            session.shutdown()
            phase = .lingering
            finishTCP()
        }
    }

    /// Lets the owner fill one record, and encrypts it. Sets `isOwnerEmpty` if the owner has no more data.
    private func encryptRecord(_ isOwnerEmpty: inout Bool) throws(TLSFailure) {
        try unsafe scratch.withRecord(of: session) { (record) throws(TLSFailure) in
            var count = 0
            while count < record.count, let delegate {
                let free = unsafe UnsafeMutableRawBufferPointer(rebasing: record[count...])
                let written = unsafe delegate.fill(free)
                precondition(written >= 0 && written <= free.count, "fill returned too many bytes")
                count += written
                isOwnerEmpty = written == 0
                if isOwnerEmpty { break }
            }
            guard count > 0, isAlive else { return }
            try unsafe session.encrypt(UnsafeRawBufferPointer(rebasing: record[..<count]))
        }
    }
}
