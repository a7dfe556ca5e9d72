/// What an open request waits for. A request is on the list of what it waits for, and on no other.
enum RequestWait: UInt8 {
    /// Its answer.
    case answer
    /// Its HEADERS have not left.
    case stream
    /// Part of its body has not left: the peer's windows are full.
    case window
    /// Its owner or its time has ended it; the peer is to be told, if it knows of it.
    case reset
}

/// Requests in the order in which they came to wait for one thing. The links lie in the slots.
@safe struct SlotList {
    private(set) var first: UnsafeMutablePointer<RequestSlot>?
    private var last: UnsafeMutablePointer<RequestSlot>?
    private let wait: RequestWait

    init(_ wait: RequestWait) { self.wait = wait }

    var isEmpty: Bool { unsafe first == nil }

    mutating func append(_ slot: UnsafeMutablePointer<RequestSlot>) {
        unsafe slot.pointee.wait = wait
        unsafe slot.pointee.previous = last
        unsafe slot.pointee.next = nil
        if let last = unsafe last { unsafe last.pointee.next = slot } else { unsafe first = slot }
        unsafe last = slot
    }

    /// It waits for its answer alone then.
    mutating func remove(_ slot: UnsafeMutablePointer<RequestSlot>) {
        let next = unsafe slot.pointee.next
        let previous = unsafe slot.pointee.previous
        if let next = unsafe next { unsafe next.pointee.previous = previous } else { unsafe last = previous }
        if let previous = unsafe previous { unsafe previous.pointee.next = next } else { unsafe first = next }
        unsafe slot.pointee.next = nil
        unsafe slot.pointee.previous = nil
        unsafe slot.pointee.wait = .answer
    }
}
