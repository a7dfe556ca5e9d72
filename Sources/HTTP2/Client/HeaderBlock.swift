/// A header block that did not fit into one frame: its HEADERS, and what has come of it.
@safe struct HeaderBlock {
    let header: FrameHeader
    var bytes = ByteStore()
    var continuations = 0
}
