/// The state of one open stream of a server. nghttp2 holds the address of the slot as the stream's user data,
/// so slots must not move. Each stream in a slot has a new generation, so that a late call with an older
/// `ServerStreamID` does not find it.
@safe struct ServerSlot {
    let index: Int
    var generation: UInt32 = 0
    /// The stream number, 0 while the slot is free.
    var stream: Int32 = 0

    // The request.
    /// The header fields and then the body so far. Empty after the request was delivered.
    var requestBuffer = GrowingBuffer()
    /// The size of the header list, as `ServerLimits.headerListBytesMax` counts it.
    var headerListBytes = 0
    /// The length of the header fields in the buffer.
    var fieldBytes = 0
    // The values of `:method` and `:path`, as ranges of the buffer.
    var methodRange = 0..<0
    var pathRange = 0..<0
    var areHeadersTruncated = false
    var isBodyTruncated = false
    /// Whether the owner has received the request, complete or truncated.
    var isDelivered = false
    /// Whether the client has sent the whole request.
    var isComplete = false
    /// The bytes of this stream whose window is not returned to the client while windows are held.
    var heldBytes = 0

    // The answer. The template and the body are retained until the stream closes, because nghttp2 reads both
    // in place.
    var template: ResponseTemplate?
    var body: SharedBody?
    /// The bytes of the body that were pulled.
    var sentBodyBytes = 0
    var isAnswered = false

    init(index: Int) { self.index = index }

    var streamID: ServerStreamID {
        ServerStreamID(index: Int32(index), generation: generation, number: stream)
    }

    /// Begins a use of the slot for a stream.
    mutating func begin(stream: Int32) {
        generation &+= 1
        self.stream = stream
        headerListBytes = 0
        fieldBytes = 0
        methodRange = 0..<0
        pathRange = 0..<0
        areHeadersTruncated = false
        isBodyTruncated = false
        isDelivered = false
        isComplete = false
        heldBytes = 0
        sentBodyBytes = 0
        isAnswered = false
    }

    /// Ends the use of the slot.
    mutating func clear() {
        stream = 0
        template = nil
        body = nil
        requestBuffer.removeAll()
    }
}
