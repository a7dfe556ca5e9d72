/// A header block that spans several frames: its HEADERS, and the bytes received so far.
@safe struct HeaderBlock {
    let header: FrameHeader
    var bytes = GrowingBuffer()
    var continuations = 0
}
