internal import Lifecycle

extension TLSConnection {
    // MARK: In

    var isAlive: Bool {
        switch phase {
        case .connecting, .handshaking, .open, .finishing: true
        case .lingering, .ending, .closed: false
        }
    }

    func work() {
        var needsInput = false
        while isAlive, !needsInput {
            switch session.next() {
            case .needsInput:
                needsInput = true
            case .established(let applicationProtocol):
                phase = .open
                timer?.cancel()
                hook()
                // The delegate may send ahead on another connection, which uses the same scratch.
                sendOutgoing()
                delegate?.established(applicationProtocol: applicationProtocol)
            case .plaintext(let bytes):
                hook()
                sendOutgoing()
                unsafe delegate?.received(bytes)
            case .ended:
                session.shutdown()
                end(.closedByPeer(inGoodOrder: true))
                leave()
            case .failed(let failure):
                refuse(failure)
            }
        }
        sendOutgoing()
    }

    /// Sends the alert that tells the peer the reason, and reads nothing more.
    func refuse(_ failure: TLSFailure) {
        end(.refused(failure))
        leave()
    }

    /// Sends the remaining bytes and then ends the TCP connection.
    func leave() {
        sendOutgoing()
        tcp?.finish()
    }

    // MARK: Out

    func sendOutgoing() {
        let bytes = unsafe scratch.outgoing
        guard unsafe !bytes.isEmpty else { return }
        if let tcp, unsafe !tcp.sendNow(bytes) { hasRoom = false }
        scratch.dropOutgoing()
    }

    /// Pulls plaintext and sends it, up to the limit of a turn.
    func pump() {
        precondition(unsafe scratch.outgoing.isEmpty, "ciphertext of another connection waits to be sent")
        var isDry = false
        do {
            while hasRoom, !isDry, !scratch.isFull, isAlive {
                let count = fillRecord(&isDry)
                if count > 0, isAlive {
                    try unsafe session.write(UnsafeRawBufferPointer(rebasing: scratch.record[..<count]))
                }
            }
        } catch {
            return refuse(error)
        }
        sendOutgoing()
        if !isDry, hasRoom { return hook() }
        if isDry, case .finishing = phase {
            session.shutdown()
            phase = .lingering
            leave()
        }
    }

    func fillRecord(_ isDry: inout Bool) -> Int {
        var count = 0
        while unsafe count < scratch.record.count, let delegate {
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: scratch.record[count...])
            let written = unsafe delegate.fill(room)
            precondition(written >= 0 && written <= room.count, "fill returned too many bytes")
            count += written
            isDry = written == 0
            if isDry { break }
        }
        return count
    }
}
