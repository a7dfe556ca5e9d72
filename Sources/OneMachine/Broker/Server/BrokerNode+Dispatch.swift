internal import Lifecycle

/// The way from the bytes of a request to its handler.
extension BrokerNode {
    /// Handles one request from a connection. The bytes are valid during this call only.
    func dispatch(_ bytes: UnsafeRawBufferPointer, from session: Session) {
        var reader = unsafe WireReader(borrowing: bytes)
        do throws(WireError) {
            let header = try RequestHeader(from: &reader)
            guard let api = header.api, api.versions.contains(header.version) else {
                return refuseVersion(of: header, from: session)
            }
            let request = try Request(api: api, version: header.version, from: &reader)
            unsafe handle(request, in: bytes, on: session.beginExchange(for: header))
        } catch {
            session.refuse(error)
        }
    }

    /// Answers a request of an unknown version. Only ApiVersions has an answer that such a client can
    /// read. After any other request the connection is closed, as on Kafka.
    private func refuseVersion(of header: RequestHeader, from session: Session) {
        guard header.api == .apiVersions else {
            return session.refuse(.unsupportedRequest(key: header.key, version: header.version))
        }
        session.beginExchange(for: header).answer { writer in
            ApiVersions.writeResponse(to: &writer, version: 0, error: .unsupportedVersion)
        }
    }

    private func handle(_ request: Request, in bytes: UnsafeRawBufferPointer, on exchange: RequestExchange) {
        if let error = refusal(byCoordinatorOf: request) {
            return exchange.answer { request.writeRefusal(error, to: &$0, version: exchange.version) }
        }
        switch request {
        case .produce(let body): unsafe ProduceHandler(node: self).handle(body, in: bytes, on: exchange)
        case .fetch(let body): fetches.handle(body, for: exchange)
        case .apiVersions:
            exchange.answer { ApiVersions.writeResponse(to: &$0, version: exchange.version) }
        case .metadata(let body): MetadataHandler(node: self).handle(body, for: exchange)
        case .describeCluster(let wantsOperations):
            exchange.answer {
                DescribeCluster.writeResponse(identity, operations: wantsOperations, to: &$0)
            }
        case .listOffsets(let body): OffsetsHandler(node: self).handle(body, for: exchange)
        case .offsetForLeaderEpoch(let body): OffsetsHandler(node: self).handle(body, for: exchange)
        case .createTopics(let body): TopicsHandler(node: self).create(body, for: exchange)
        case .deleteTopics(let body): TopicsHandler(node: self).delete(body, for: exchange)
        case .deleteRecords(let body): OffsetsHandler(node: self).handle(body, for: exchange)
        case .createPartitions(let names): TopicsHandler(node: self).createPartitions(names, for: exchange)
        case .describeConfigs(let body): ConfigsHandler(node: self).describe(body, for: exchange)
        case .alterConfigs(let body, let incremental):
            ConfigsHandler(node: self).alter(body, incremental: incremental, for: exchange)
        case .findCoordinator(let body): findCoordinator(body, for: exchange)
        case .group(let body): coordinators.handle(body, for: exchange)
        case .initProducerID(let body): coordinators.handle(.initProducerID(body), for: exchange)
        case .addPartitionsToTxn(let body): coordinators.handle(.addPartitions(body), for: exchange)
        case .addOffsetsToTxn(let body): coordinators.handle(.addOffsets(body), for: exchange)
        case .endTxn(let body): coordinators.handle(.end(body), for: exchange)
        case .txnOffsetCommit(let body): coordinators.handle(body, for: exchange)
        }
    }

    /// Answers that this broker coordinates all groups and transactions.
    private func findCoordinator(_ request: FindCoordinatorRequest, for exchange: RequestExchange) {
        let isKnownType =
            request.keyType == FindCoordinatorRequest.group
            || request.keyType == FindCoordinatorRequest.transaction
        let coordinators = request.keys.map { key in
            isKnownType
                ? FindCoordinatorResponse.Coordinator(
                    key: key, nodeID: Node.id, host: identity.host, port: Int32(identity.port))
                : FindCoordinatorResponse.Coordinator(
                    none: key, error: .invalidRequest,
                    message: "coordinators of kind \(request.keyType) are unknown")
        }
        exchange.answer {
            FindCoordinatorResponse(coordinators: coordinators).write(to: &$0, version: exchange.version)
        }
    }
}
