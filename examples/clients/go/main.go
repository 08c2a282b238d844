// Lists connectors, creates one, watches it until it has moved all records, and deletes it.
//
//	ROCKETCONNECT_ADDRESS=HOST:PORT ROCKETCONNECT_TOKEN=rct_... ROCKETCONNECT_CACERT=ca.pem ./client NAME FILE RECORDS
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	configv1 "github.com/rocketconnect/rocketconnect/gen/go/rocketconnect/config/v1"
	statev1 "github.com/rocketconnect/rocketconnect/gen/go/rocketconnect/state/v1"
)

// token is shown with each call, and over TLS alone.
type token string

func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

func (t token) RequireTransportSecurity() bool { return true }

func dial() (*grpc.ClientConn, error) {
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if ca := os.Getenv("ROCKETCONNECT_CACERT"); ca != "" {
		secure, err := credentials.NewClientTLSFromFile(ca, "")
		if err != nil {
			return nil, err
		}
		options = []grpc.DialOption{grpc.WithTransportCredentials(secure)}
	}
	if shown := os.Getenv("ROCKETCONNECT_TOKEN"); shown != "" {
		options = append(options, grpc.WithPerRPCCredentials(token(shown)))
	}
	return grpc.NewClient(os.Getenv("ROCKETCONNECT_ADDRESS"), options...)
}

func run(name, file string, records int64) error {
	connection, err := dial()
	if err != nil {
		return err
	}
	defer connection.Close()
	configs, states := configv1.NewConfigServiceClient(connection), statev1.NewStateServiceClient(connection)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()

	list, err := configs.ListConnectors(ctx, &configv1.ListConnectorsRequest{})
	if err != nil {
		return err
	}
	fmt.Printf("connectors: %d\n", len(list.Connectors))

	if _, err := configs.CreateConnector(ctx, &configv1.CreateConnectorRequest{Name: "no such name"}); err != nil {
		fmt.Printf("refused: %s\n", status.Code(err))
	}
	made, err := configs.CreateConnector(ctx, &configv1.CreateConnectorRequest{
		Name:   name,
		Config: map[string]string{"connector.class": "file_source", "topic": name, "filename": file},
	})
	if err != nil {
		return err
	}
	fmt.Printf("created: %s, revision %d\n", made.Connector.Name, made.Connector.Revision)

	watching, stop := context.WithCancel(ctx)
	defer stop()
	watch, err := states.WatchConnectorState(watching, &statev1.WatchConnectorStateRequest{Connector: name})
	if err != nil {
		return err
	}
	for last, moved := "", int64(0); moved < records; {
		answer, err := watch.Recv()
		if err != nil {
			return err
		}
		if now := answer.State.State.String(); now != last {
			fmt.Printf("state: %s\n", now)
			last = now
		}
		moved = 0
		for _, task := range answer.State.Tasks {
			moved += int64(task.GetMetrics().GetRecordsOut())
		}
	}
	stop()
	fmt.Printf("moved: %d\n", records)
	_, err = configs.DeleteConnector(ctx, &configv1.DeleteConnectorRequest{Name: name})
	return err
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: client NAME FILE RECORDS")
	}
	records, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(os.Args[1], os.Args[2], records); err != nil {
		log.Fatal(err)
	}
}
