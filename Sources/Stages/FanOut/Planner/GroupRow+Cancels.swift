internal import Sends

extension GroupRow {
    /// Stores the cancel of a send. Each `SupersededVersions` of the group names the send for a day, because its jobs
    /// may be in flight for that long.
    ///
    /// - Returns: false if the row is full of other cancels of that day. Then the row is unchanged, because a
    ///   forgotten cancel would let the jobs of its send go on.
    mutating func storeCancel(of send: String, at stamp: Int64) -> Bool {
        let others = cancelledSends.filter {
            $0.send != send && stamp - $0.at < SupersededVersions.cancelledMilliseconds
        }
        guard others.count < SupersededVersions.cancelledSendsMax else { return false }
        cancelledSends = others + [CancelledSend(send: send, at: stamp)]
        // The list forgets the send after a day. Its state must not be restorable then.
        replacedStates.removeAll { $0.originates(from: send) }
        lastSendAt = stamp
        return true
    }
}
