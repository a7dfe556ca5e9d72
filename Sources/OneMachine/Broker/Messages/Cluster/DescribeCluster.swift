/// DescribeCluster, the request for the nodes of the cluster.
enum DescribeCluster {
    /// Returns whether the client asks for its allowed operations.
    static func readRequest(from reader: inout WireReader) throws(WireError) -> Bool {
        let wantsOperations = try reader.bool()
        try reader.skipTags()
        return wantsOperations
    }

    static func writeResponse(_ node: Node, operations: Bool, to writer: inout WireWriter) {
        writer.zeroThrottleTime()
        writer.error(.none)
        writer.nullableString(nil)  // error_message
        writer.string(node.clusterID)
        writer.int32(Node.id)  // controller_id
        writer.array(CollectionOfOne(node)) { writer, node in
            writer.int32(Node.id)
            writer.string(node.host)
            writer.int32(Int32(node.port))
            writer.nullableString(nil)  // rack
            writer.emptyTags()
        }
        writer.int32(operations ? Node.clusterOperations : Node.operationsNotAsked)
        writer.emptyTags()
    }
}
