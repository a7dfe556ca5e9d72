internal import Glibc

extension TCPConnection {
    /// Stops reading. The kernel's buffer then fills up, and the peer must wait.
    package func pauseReading() { isReading = false }

    package func resumeReading() {
        loop.preconditionOnLoop()
        isReading = !hasInputEnded
        if mayHaveInput { requestHook() }
    }

    func read() {
        mayHaveInput = false
        let count = receive()
        if count > 0 {
            // A short read has emptied the socket. But if the peer's end came with the data, there was only
            // one edge for both.
            if unsafe count == loop.readBuffer.count || hasPeerEnded { mayHaveInput = true }
            if mayHaveInput, isReading { requestHook() }
        } else if count == 0 {
            endInput()
        } else if errno == EINTR {
            mayHaveInput = true
            requestHook()
        } else if errno != EAGAIN {
            end(because: .broken(SystemError(action: "read from the peer", code: errno)))
        }
    }

    /// Reads what a broken connection still has.
    func readRemainingInput() {
        while isReading, descriptor >= 0 {
            let count = receive()
            if count == 0 || count < 0 && errno != EINTR { return }
        }
    }

    /// Gives the delegate what one `recv` returns.
    private func receive() -> Int {
        let buffer = unsafe loop.readBuffer
        let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count }
        if isOpen {
            unsafe delegate?.didReceive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        } else {
            countDropped(bytes: count)
        }
        return count
    }

    /// Counts bytes after `finish`. They are read only to see the peer's end. A peer that continues to send
    /// is closed at a limit.
    private func countDropped(bytes count: Int) {
        droppedBytes += count
        if droppedBytes > TCPConnection.droppedBytesMax { end(because: .closedLocally) }
    }

    func endInput() {
        isReading = false
        hasInputEnded = true
        if case .finishing = phase {
            if isOutputShut { end(because: .closedLocally) }
        } else if options.keepsOpenAfterInputEnds {
            delegate?.inputDidEnd()
        } else {
            end(because: .closedByPeer)
        }
    }
}
